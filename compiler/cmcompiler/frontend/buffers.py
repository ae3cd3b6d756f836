"""Turns a module's mutable buffers into inputs and outputs for quantisation. Importing it imports
torch.

The quantizer treats buffers as constants. As inputs, they are observed with the values that the
calibration inputs produce in sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.fx import GraphModule, Interpreter
from torch.fx.traceback import preserve_node_meta

from cmcompiler.frontend.copies import copied
from cmcompiler.frontend.traceable_forms import TraceableForms


def mutable_buffers(module: torch.nn.Module, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """The initial values, by name, of buffers that `forward` writes to or assigns.

    Found by calling it: torch.export misses assignments in submodules.
    """
    held = dict(module.named_buffers())
    if not held:
        return {}
    trial = copied(module)
    before = {name: (buffer, buffer._version) for name, buffer in trial.named_buffers()}
    # As in an export, where x.data is no way around the count of writes.
    with torch.no_grad(), TraceableForms():
        trial(*inputs)
    found = trial.named_buffers(remove_duplicate=False)
    after = {name: (buffer, buffer._version) for name, buffer in found}
    return {
        name: held[name]
        for name, (buffer, version) in before.items()
        if after[name][0] is not buffer or after[name][1] != version
    }


class WithStates(torch.nn.Module):
    """A module that takes its mutable buffers as additional inputs, after its own.

    It returns the module's outputs and a tuple of the buffers' new values.
    """

    def __init__(self, module: torch.nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.module = module
        self.names = tuple(names)

    def forward(self, *inputs: Tensor) -> tuple[Any, tuple[Tensor, ...]]:
        own = len(inputs) - len(self.names)
        states = {n: x.clone() for n, x in zip(self.names, inputs[own:], strict=True)}
        outputs = functional_call(self.module, states, inputs[:own])
        return outputs, tuple(states.values())


class WithBuffers(torch.nn.Module):
    """The inverse: a graph of `WithStates` that holds its states in buffers."""

    def __init__(self, module: GraphModule, states: Sequence[Tensor]) -> None:
        super().__init__()
        self.module = module
        self.names = tuple(f"state_{number}" for number in range(len(states)))
        for name, initial in zip(self.names, states, strict=True):
            self.register_buffer(name, initial.clone())

    def forward(self, *inputs: Tensor) -> Any:
        held = [self.get_buffer(name) for name in self.names]
        # The backend needs the quantizer's annotations on each node.
        with preserve_node_meta():
            outputs, states = Interpreter(self.module).run(*inputs, *held)
        # One buffer may take the value that another had.
        states = [state.clone() if any(state is x for x in held) else state for state in states]
        for buffer, state in zip(held, states, strict=True):
            buffer.copy_(state)
        return outputs

"""Mutable buffers of a module, which become inputs and outputs while it is quantised. Importing it
imports torch.

The quantizer takes what a buffer holds for a constant. As an input, it is observed with what the
calibration inputs, one after the other, make of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.fx import GraphModule, Interpreter
from torch.fx.traceback import preserve_node_meta


def mutable_buffers(module: torch.nn.Module, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """The buffers that `forward` writes to or assigns, by name, with what they begin with.

    They are found by a call of it: torch.export overlooks what a part of a module assigns.
    """
    held = dict(module.named_buffers())
    if not held:
        return {}
    trial = deepcopy(module)
    before = {name: (buffer, buffer._version) for name, buffer in trial.named_buffers()}
    with torch.no_grad():
        trial(*inputs)
    after = {name: (buffer, buffer._version) for name, buffer in trial.named_buffers()}
    return {
        name: held[name]
        for name, (buffer, version) in before.items()
        if after[name][0] is not buffer or after[name][1] != version
    }


class WithStates(torch.nn.Module):
    """A module that takes what its mutable buffers hold after its own inputs.

    It returns the outputs of the module, and a tuple of what the buffers hold then.
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
    """The other way round: a graph of `WithStates`, whose states are held in buffers."""

    def __init__(self, module: GraphModule, states: Sequence[Tensor]) -> None:
        super().__init__()
        self.module = module
        self.names = tuple(f"state_{number}" for number in range(len(states)))
        for name, initial in zip(self.names, states, strict=True):
            self.register_buffer(name, initial.clone())

    def forward(self, *inputs: Tensor) -> Any:
        held = [self.get_buffer(name) for name in self.names]
        # The backend looks for what the quantizer has noted of each node.
        with preserve_node_meta():
            outputs, states = Interpreter(self.module).run(*inputs, *held)
        for buffer, state in zip(held, states, strict=True):
            buffer.copy_(state)
        return outputs

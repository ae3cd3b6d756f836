"""The float graph on a program's own values. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.fidelity.pairing import StepRange, ValuePair
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.simulation import rounded

Array = npt.NDArray[Any]

Report = Callable[[ValuePair, Tensor, Array], None]
"""Sees what the float graph computes, and what the program has there."""


class RoundedWeights(Interpreter):
    """Computes a prepared graph with its weights rounded as in the program; biases are not."""

    def __init__(self, prepared: GraphModule, garbage_collect_values: bool = True) -> None:
        super().__init__(prepared, garbage_collect_values)
        self._weights: dict[Node, Tensor] = {}
        self._rows: dict[tuple[Node, int], Tensor] = {}

    def fetch_args_kwargs_from_env(self, n: Node) -> Any:
        """With the matrices that a lowering rounds row by row."""
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        registered = QUANTIZED.get(n.target) if isinstance(n.target, OpOverload) else None
        if registered is None or not registered.rows:
            return args, kwargs
        return tuple(
            self._by_rows(n, place, each) if place in registered.rows else each
            for place, each in enumerate(args)
        ), kwargs

    def observed(self, n: Node, value: Any = None) -> Any:
        """What a node that holds a range makes of a value, or of its operand."""
        observer: Any = self.fetch_attr(str(n.target))
        if value is None:
            (value, *_), _ = super().fetch_args_kwargs_from_env(n)
        is_bias = isinstance(observer, DerivedObserverOrFakeQuantize)
        if is_bias or not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        source = n.args[0]
        if not isinstance(source, Node) or source.op != "get_attr":
            return rounded(value, observer)
        if n not in self._weights:
            self._weights[n] = rounded(value, observer)
        return self._weights[n]

    def _by_rows(self, node: Node, place: int, weight: Tensor | None) -> Tensor | None:
        if weight is None:
            return None
        if (node, place) not in self._rows:
            scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-30) / 127
            self._rows[node, place] = (weight / scale).round() * scale
        return self._rows[node, place]


class ForcedRun(RoundedWeights):
    """Computes a prepared graph in float, and goes on with the program's value after each layer.

    So errors do not add up, and a run checks every layer. What the program has no value for is
    rounded as its range says.
    """

    def __init__(self, prepared: GraphModule, report: Report) -> None:
        super().__init__(prepared)
        self._report = report
        self._values: Mapping[Node, tuple[ValuePair, Array]] = {}

    def run_on(
        self, inputs: tuple[Tensor, ...], values: Mapping[Node, tuple[ValuePair, Array]]
    ) -> Any:
        """The graph's results.

        Args:
            values: of the program, in logical shapes.
        """
        self._values = values
        return self.run(*inputs)

    def run_node(self, n: Node) -> Any:
        result = self.observed(n) if n.op == "call_module" else super().run_node(n)
        if n not in self._values or not isinstance(result, Tensor):
            return result
        pair, made = self._values[n]
        self._report(pair, result, made)
        return real(made, pair.range).to(result.dtype).reshape(result.shape)


def real(made: Array, held: StepRange | None) -> Tensor:
    """The numbers that a program's values stand for."""
    if held is None:
        return torch.from_numpy(made)
    steps = torch.from_numpy(made.astype(np.float64)) - held.zero_point
    return steps * held.scale

"""States that change by less than a step of 8 bits, kept in float. Importing it imports torch.

`mean = 0.999 * mean + 0.001 * x` in int8 rounds back to what it was. What leads from such a state
to its next value, and the state, are not rounded then.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.float_parts import UnroundedPart, has_float_form
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS, MOVEMENTS
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.simulation import rounded

FINE = 30.0
"""In dB: a state that follows the exact one as closely needs no float."""

LEAST_GAIN = 6.0
"""In dB; less is not worth the time that operators take in float."""

_STEPS = 1024
"""Runs in sequence, for which calibration inputs are repeated."""

_ELEMENTS = 4_000_000
"""Elements of all activations in these runs, if more than the fewest."""

_FEWEST_STEPS = 32

_PRODUCTS = {torch.ops.aten.bmm.default, torch.ops.aten.matmul.default}

REASON = "its state changes by less than a step of 8 bits"


def keep_feedback(
    prepared: GraphModule, observed: Sequence[Sequence[Tensor]], states: int
) -> frozenset[str]:
    """Leaves the way from a state to its next value in float where that follows more closely.

    Args:
        observed: calibration inputs, each with the states before it.
        states: how many of the last inputs and outputs are states.

    Returns: the names of operators in float.
    """
    names: set[str] = set()
    ways = [_way(prepared, place - states) for place in range(states)]
    if not any(ways):
        return frozenset()
    samples = [list(sample[: len(sample) - states]) for sample in observed]
    samples = list(islice(cycle(samples), _steps(prepared)))
    initial = list(observed[0][len(observed[0]) - states :])
    exact = _Sequence(prepared, is_rounding=False).run_on(samples, initial)
    before = _ratios(exact, _Sequence(prepared, is_rounding=True).run_on(samples, initial))
    for place, way in enumerate(ways):
        if not way or before[place] >= FINE:
            continue
        part = UnroundedPart(prepared)
        if not part.extend(way, place - states):
            continue
        after = _ratios(exact, _Sequence(prepared, is_rounding=True).run_on(samples, initial))
        if after[place] >= before[place] + LEAST_GAIN:
            names |= part.keep()
            before = after
        else:
            part.undo()
    return frozenset(names)


def _input(prepared: GraphModule, place: int) -> Node:
    inputs: list[Node] = [node for node in prepared.graph.nodes if node.op == "placeholder"]
    return inputs[place]


def _way(prepared: GraphModule, place: int) -> set[Node]:
    """The operators between a state and its next value, if some compute."""
    *_, output = prepared.graph.nodes
    last: Any = tree_leaves(output.args[0])[place]
    after = _reached(_input(prepared, place), forwards=True)
    way = after & (_reached(last, forwards=False) | {last})
    operators = {node for node in way if node.op == "call_function"}
    passing = JOINS | MOVEMENTS
    return operators if any(node.target not in passing for node in operators) else set()


def _reached(start: Node, *, forwards: bool) -> set[Node]:
    """Nodes behind operators with a float form, layers aside: these mix states with each other."""
    reached: set[Node] = set()
    left = [start]
    while left:
        node = left.pop()
        for each in node.users if forwards else node.all_input_nodes:
            if each not in reached and _passes(each):
                reached.add(each)
                left.append(each)
    return reached


def _passes(node: Node) -> bool:
    if node.op == "call_module":
        return True
    is_product = node.target in LAYERS or node.target in _PRODUCTS
    return node.op == "call_function" and not is_product and has_float_form(node)


def _steps(prepared: GraphModule) -> int:
    values = (node.meta.get("val") for node in prepared.graph.nodes if node.op == "call_function")
    elements = sum(value.numel() for value in values if isinstance(value, Tensor))
    return min(_STEPS, max(_FEWEST_STEPS, _ELEMENTS // max(elements, 1)))


def _ratios(exact: Sequence[Sequence[Tensor]], computed: Sequence[Sequence[Tensor]]) -> list[float]:
    """Signal to noise of each state over a sequence, in dB."""
    columns = zip(zip(*exact, strict=True), zip(*computed, strict=True), strict=True)
    return [snr(real, other) for real, other in columns]


class _Sequence(Interpreter):
    """Computes the states of a prepared graph from run to run."""

    def __init__(self, prepared: GraphModule, *, is_rounding: bool) -> None:
        super().__init__(prepared)
        self._is_rounding = is_rounding
        self._constants: dict[Node, Any] = {}

    def run_on(
        self, samples: Sequence[Sequence[Tensor]], states: Sequence[Tensor]
    ) -> list[list[Tensor]]:
        """The states after each run."""
        *_, output = self.graph.nodes
        results = tree_leaves(output.args[0])[-len(states) :]
        needed = _needed(results)
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        order = [node for node in self.graph.nodes if node in needed and node not in inputs]
        rows: list[list[Tensor]] = []
        held = list(states)
        for sample in samples:
            self.env = {**dict(zip(inputs, [*sample, *held], strict=True)), **self._constants}
            for node in order:
                if node not in self.env:
                    self.env[node] = self._result(node)
            held = [self.env[node].clone() for node in results]
            rows.append(held)
        return rows

    def _result(self, node: Node) -> Any:
        if node.op == "call_module":
            (source, *_) = node.all_input_nodes
            observer = observer_of(node)
            is_derived = isinstance(observer, DerivedObserverOrFakeQuantize)
            is_rounding = self._is_rounding and not is_derived
            result = rounded(self.env[source], observer) if is_rounding else self.env[source]
            if source.op == "get_attr":
                self._constants[node] = result
            return result
        return self.run_node(node)


def _needed(results: Sequence[Node]) -> set[Node]:
    reached: set[Node] = set()
    left = list(results)
    while left:
        node = left.pop()
        if node not in reached:
            reached.add(node)
            left += node.all_input_nodes
    return reached

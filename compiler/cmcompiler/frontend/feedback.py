"""States that change by less than a step of 8 bits, kept in float. Importing it imports torch.

`mean = 0.999 * mean + 0.001 * x` in int8 rounds back to what it was. What leads from such a state
to its next value, and the state, are not rounded then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.float_parts import UnroundedPart, has_float_form
from cmcompiler.frontend.operators.unrolled import UNROLLED
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS, MOVEMENTS
from cmcompiler.frontend.sensitivity import snr_of_outputs
from cmcompiler.frontend.simulation import Steps, element_count, rounded, steps_of

FINE = 30.0
"""In dB: a state that follows the exact one as closely needs no float."""

LEAST_GAIN = 6.0
"""In dB; less is not worth the time that operators take in float."""

_STEPS = 1024
"""Runs in sequence, for which calibration inputs are repeated."""

_START = 16
"""Runs in which a state may move faster than ever after."""

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
    loops = _loops(prepared, range(-states, 0))
    samples = [list(sample[: len(sample) - states]) for sample in observed]
    initial = list(observed[0][len(observed[0]) - states :])
    names: set[str] = set()
    kept: set[Node] = set()
    for is_through_layers in (False, True):
        chosen = [loop for loop in loops if loop.is_through_layers == is_through_layers]
        if not chosen:
            continue
        inputs = samples if is_through_layers else _repeated(samples, _steps(prepared))
        run = partial(_run, prepared, inputs, initial, is_whole=is_through_layers)
        exact = run(is_rounding=False)
        before = _ratios(exact, run(is_rounding=True))
        for loop in chosen:
            coarse = loop.coarse(before)
            part = UnroundedPart(prepared)
            if not coarse or not part.extend(loop.way, loop.states, kept):
                continue
            after = _ratios(exact, run(is_rounding=True))
            if loop.is_closer(before, after):
                names |= part.keep()
                kept |= part.members | part.exact
                before = after
            else:
                part.undo()
    return frozenset(names)


def _run(
    prepared: GraphModule,
    samples: Sequence[Sequence[Tensor]],
    initial: Sequence[Tensor],
    *,
    is_rounding: bool,
    is_whole: bool,
) -> list[list[Tensor]]:
    """The states after each run, preceded by the outputs if it is whole."""
    sequence = _Sequence(prepared, is_rounding=is_rounding)
    return sequence.run_on(samples, initial, is_whole=is_whole)


def _repeated(samples: Sequence[Sequence[Tensor]], steps: int) -> list[Sequence[Tensor]]:
    """So many samples, from the middle: a state that starts with other values may leave the range
    it was seen in.
    """
    middle = len(samples) // 2
    return list(islice(cycle(samples), middle, middle + steps))


@dataclass(frozen=True, slots=True)
class _Loop:
    """States whose next values depend on each other.

    Attributes:
        states: their positions among inputs and outputs, from the end.
        way: the operators between them and their next values, without recurrent layers.
        is_through_layers: whether a recurrent layer is between them. Its cells may grow for longer
            than calibration lasts, so that no more than its inputs can tell.
    """

    states: tuple[int, ...]
    way: frozenset[Node]
    is_through_layers: bool

    def coarse(self, ratios: Sequence[float]) -> list[int]:
        """The places of states, or of any results, that do not follow the exact ones closely.

        Of states that are one tensor, the largest hide what is lost of others: outputs show it.
        """
        places = range(-len(ratios), 0) if self.is_through_layers else self.states
        return [place for place in places if ratios[place] < FINE]

    def is_closer(self, before: Sequence[float], after: Sequence[float]) -> bool:
        """Whether a state, or any result, follows more closely by enough."""
        if self.is_through_layers:
            return any(after[at] >= before[at] + LEAST_GAIN for at in self.coarse(before))
        least, now = (min(ratios[at] for at in self.states) for ratios in (before, after))
        return now >= least + LEAST_GAIN


def _loops(prepared: GraphModule, states: Sequence[int]) -> list[_Loop]:
    """The loops in which operators compute; states that only move are in none."""
    *_, output = prepared.graph.nodes
    results = tree_leaves(output.args[0])
    inputs = [node for node in prepared.graph.nodes if node.op == "placeholder"]
    after = {place: _reached(inputs[place], forwards=True) for place in states}
    before = {place: _reached(results[place], forwards=False) for place in states}
    leads = {place: {end for end in states if after[place] & before[end]} for place in states}
    for between in states:  # Warshall (1962): the transitive closure
        for place in states:
            if between in leads[place]:
                leads[place] |= leads[between]
    passing = JOINS | MOVEMENTS
    loops: list[_Loop] = []
    for group in {
        tuple(end for end in sorted(leads[place]) if place in leads[end]) for place in states
    }:
        between_ends = {
            node for start in group for end in group for node in after[start] & before[end]
        }
        way = {node for node in between_ends if node.op == "call_function"}
        operators = frozenset(node for node in way if not _is_recurrent(node))
        # States of a recurrent layer differ in type, so that joining them rounds one of them.
        moving = passing if operators == way else MOVEMENTS
        if any(node.target not in moving for node in operators):
            loops.append(_Loop(group, operators, operators != way))
    return sorted(loops, key=lambda loop: loop.states)


def _reached(start: Node, *, forwards: bool) -> set[Node]:
    """A node and those behind operators with a float form or recurrent layers.

    Other layers end a way: they mix states with each other.
    """
    reached, left = {start}, [start]
    while left:
        node = left.pop()
        for each in node.users if forwards else node.all_input_nodes:
            if each not in reached and _passes(each):
                reached.add(each)
                left.append(each)
    return reached


def _passes(node: Node) -> bool:
    if node.op == "call_module" or _is_recurrent(node):
        return True
    is_product = node.target in LAYERS or node.target in _PRODUCTS
    return node.op == "call_function" and not is_product and has_float_form(node)


def _is_recurrent(node: Node) -> bool:
    """Whether a node is a recurrent layer in integers or one of its results."""
    layer = node.args[0] if node.target is getitem else node
    return isinstance(layer, Node) and layer.target in UNROLLED


def _steps(prepared: GraphModule) -> int:
    return min(_STEPS, max(_FEWEST_STEPS, _ELEMENTS // max(element_count(prepared), 1)))


def _ratios(exact: Sequence[Sequence[Tensor]], computed: Sequence[Sequence[Tensor]]) -> list[float]:
    """Signal to noise of each state in dB, over a sequence or over its start, whichever is less."""
    parts = [snr_of_outputs(exact[:end], computed[:end]) for end in (None, _START)]
    return list(map(min, *parts))


class _Sequence(Interpreter):
    """Computes the states of a prepared graph from run to run."""

    def __init__(self, prepared: GraphModule, *, is_rounding: bool) -> None:
        super().__init__(prepared)
        self._is_rounding = is_rounding
        self._constants: dict[Node, Any] = {}
        self._rounding_steps: dict[Node, Steps | None] = {}

    def run_on(
        self,
        samples: Sequence[Sequence[Tensor]],
        states: Sequence[Tensor],
        *,
        is_whole: bool = False,
    ) -> list[list[Tensor]]:
        """The states after each run, preceded by the outputs if it is whole."""
        *_, output = self.graph.nodes
        leaves = [leaf for leaf in tree_leaves(output.args[0]) if isinstance(leaf, Node)]
        results = leaves if is_whole else leaves[-len(states) :]
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
            rows.append([self.env[node].clone() for node in results])
            held = rows[-1][-len(states) :]
        return rows

    def _result(self, node: Node) -> Any:
        if node.op == "call_module":
            (source, *_) = node.all_input_nodes
            observer = observer_of(node)
            is_derived = isinstance(observer, DerivedObserverOrFakeQuantize)
            is_rounding = self._is_rounding and not is_derived
            result = self.env[source]
            if is_rounding:
                if node not in self._rounding_steps:
                    self._rounding_steps[node] = steps_of(observer)
                result = rounded(result, observer, self._rounding_steps[node])
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

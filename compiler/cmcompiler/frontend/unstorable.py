"""Numbers that no integer can stand for: NaN, infinite and vast ones. Importing it imports torch.

Observers see the others alone. A NaN that some operator replaces, as `torch.nan_to_num(x / y)`
does, must reach it: what lies between is computed in float. Infinite numbers that are asked for, as
those of masks, are stored as the end of a range.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e.observer import UniformQuantizationObserverBase

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.float_parts import UnroundedPart
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.refusals import operator_name, place_of
from cmcompiler.frontend.resolution import LEAST, OperandRounding
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.masks import CHOICES, FILLS

REASON = "its results are not finite, or too large for integers, where others replace them"

LARGEST = 2.0**106
"""Steps of ranges up to here are far from the limits of single precision: see read_scale."""

_EXACT = 40.0
"""In dB: what is in float anyway may as well read operands that are."""

_OTHERS = 8
"""Calibration inputs that are looked at besides."""

_aten = torch.ops.aten
_ASKING = {
    *FILLS,
    *CHOICES,
    *(_aten.full.default, _aten.full_like.default, _aten.new_full.default),
    *(_aten.fill.Scalar, _aten.fill.Tensor, _aten.scalar_tensor.default),
    *(_aten.constant_pad_nd.default, _aten.pad.default, _aten.scatter.value),
    *(_aten.clamp.default, _aten.clamp_min.default, _aten.clamp_max.default),
    *(_aten.nan_to_num.default, _aten.index_put.default),
}
"""Operators that only put numbers where they are told to."""
_SOFTMAXES = {_aten.softmax.int, _aten._softmax.default, _aten.log_softmax.int}
_CHOICE = re.compile(r"\b(where|masked_fill|full|clamp|nan_to_num|fill)\b")
_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?")


class CalibrationRun(Interpreter):
    """Runs a prepared graph on calibration inputs for its observers.

    Attributes:
        unstorable: nodes with numbers that observers were not shown, and the first run with any.
    """

    def __init__(self, prepared: GraphModule) -> None:
        super().__init__(prepared)
        self.unstorable: dict[Node, int] = {}
        self.runs = 0

    def run_on(self, inputs: Sequence[Tensor]) -> Any:
        """The results for the next calibration input."""
        self.runs += 1
        return self.run(*inputs)

    def run_node(self, n: Node) -> Any:
        if n.op == "call_module":
            source, observer = n.all_input_nodes[0], observer_of(n)
            value = self.env[source]
            is_observer = isinstance(observer, _OBSERVER) and not _is_weight(observer)
            if is_observer and has_unstorable(value):
                self.unstorable.setdefault(source, self.runs)
                kept = value[value.abs() <= LARGEST]
                if kept.numel():
                    observer(kept)
                return value
        return super().run_node(n)


_OBSERVER = UniformQuantizationObserverBase


def _is_weight(observer: Any) -> bool:
    return observer.qscheme in (torch.per_channel_affine, torch.per_channel_symmetric)


def has_unstorable(value: Any) -> bool:
    if not isinstance(value, Tensor) or not value.is_floating_point() or not value.numel():
        return False
    least, largest = torch.aminmax(value.detach())
    return not bool((least >= -LARGEST) & (largest <= LARGEST))


class _Origins(Interpreter):
    """Finds where unstorable numbers arise that nothing asks for, and what they reach.

    Attributes:
        arising: nodes that make some of storable ones, in order; inputs and constants that hold
            NaN.
        reached: these, and nodes whose unstorable numbers come from them.
        unknown: those of the reached nodes that have a NaN.
        vast: those of the reached nodes that have no storable number, or finite ones that are not.
    """

    def __init__(self, prepared: GraphModule) -> None:
        super().__init__(prepared, garbage_collect_values=False)
        self.arising: dict[Node, None] = {}
        self.reached: set[Node] = set()
        self.unknown: set[Node] = set()
        self.vast: set[Node] = set()

    @property
    def needed(self) -> set[Node]:
        """Nodes whose numbers mean something, and must not be rounded."""
        return self.unknown | self.vast

    def of(self, samples: Sequence[Sequence[Tensor]]) -> _Origins:
        for sample in samples:
            self.run(*sample)
        return self

    def run_node(self, n: Node) -> Any:
        is_held = n.op == "call_module"
        result = self.env[n.all_input_nodes[0]] if is_held else super().run_node(n)
        if n.op != "output" and has_unstorable(result):
            self._note(n, result)
        return result

    def _note(self, node: Node, result: Tensor) -> None:
        sources = node.all_input_nodes
        has_nan = bool(result.isnan().any())
        if node.target in _SOFTMAXES and not any(source in self.reached for source in sources):
            return  # a row of which masks leave nothing: its probabilities are 0 in integers
        is_new = not any(has_unstorable(self.env[source]) for source in sources)
        if has_nan and not any(source in self.unknown for source in sources):
            is_new = True
        elif node.op != "call_function" or _asks(node):
            is_new = False
        if is_new and node.op != "call_module":
            self.arising.setdefault(node)
        if is_new or any(source in self.reached for source in sources):
            self.reached.add(node)
            if has_nan:
                self.unknown.add(node)
            sizes = result.abs()
            is_finite = bool((result.isfinite() & (sizes > LARGEST)).any())
            if is_finite or not bool((sizes <= LARGEST).any()):
                self.vast.add(node)


def _asks(node: Node) -> bool:
    """Whether an operator is told to give vast numbers, as one that fills a mask is."""
    if node.target in _ASKING:
        return True
    for argument in node.args:
        if isinstance(argument, str) and _CHOICE.search(argument):
            numbers = (float(number[0]) for number in _NUMBER.finditer(argument))
            return any(abs(number) > LARGEST for number in numbers)
    return False


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a run on calibration inputs.

    Attributes:
        run: done.
        samples: arguments of the graph in each run.
        states: how many of the last inputs and outputs are states.
    """

    run: CalibrationRun
    samples: Sequence[Sequence[Tensor]]
    states: int

    @property
    def noted(self) -> list[Sequence[Tensor]]:
        """Samples of the first run in which each node had unstorable numbers, and a few others."""
        first = set(self.run.unstorable.values())
        others = range(1, min(_OTHERS, len(self.samples)) + 1) if first else ()
        return [self.samples[number - 1] for number in sorted(first.union(others))]


def keep_unstorable(
    prepared: GraphModule, calibration: Calibration, call_sites: Mapping[str, CallSite]
) -> frozenset[str]:
    """Computes in float what no integer can stand for, up to the operators that replace it.

    Returns: the names of operators in float.

    Raises:
        InvalidRequest: names the user's line where NaN arises that nothing replaces, or what no
            float operator can compute.
    """
    names: set[str] = set()
    tried: set[Node] = set()
    while noted := calibration.noted:
        origins = _Origins(prepared).of(noted)
        for leaf in _lost(prepared, origins, calibration.states):
            raise _refusal(leaf, origins, calibration, call_sites)
        moved = next((each for each in _to_move(prepared, origins, noted, tried)), None)
        if moved is None:
            break
        node, is_needed = moved
        tried.add(node)
        part = UnroundedPart(prepared)
        if _extend(part, prepared, node, calibration, is_needed=is_needed):
            names |= part.keep()
        elif is_needed:
            raise _refusal(node, origins, calibration, call_sites)
        else:
            part.undo()
    return frozenset(names)


def _lost(prepared: GraphModule, origins: _Origins, states: int) -> Iterator[Node]:
    """Results that are NaN, and states that are not to be stored."""
    *_, output = prepared.graph.nodes
    leaves = tree_leaves(output.args[0])
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Node):
            is_vast = leaf in origins.vast and place >= len(leaves) - states
            if leaf in origins.unknown or is_vast:
                yield leaf


def _to_move(
    prepared: GraphModule,
    origins: _Origins,
    samples: Sequence[Sequence[Tensor]],
    tried: Collection[Node],
) -> Iterator[tuple[Node, bool]]:
    """Nodes that must not be rounded, and whether that is for NaN and vast numbers.

    Args:
        tried: other ones that may be rounded.
    """
    rounded = [node for node in prepared.graph.nodes if node in origins.reached and _held(node)]
    yield from ((node, True) for node in rounded if node in origins.needed)
    rounded = [node for node in rounded if node not in tried]
    if rounded:
        ratios = OperandRounding(prepared, samples).ratios()
        for node in rounded:
            readers = [reader for held in _held(node) for reader in held.users]
            is_result = any(reader.op == "output" for reader in readers)
            if is_result or any(ratios.get(each, LEAST) < LEAST for each in (node, *readers)):
                yield node, False


def _held(node: Node) -> list[Node]:
    """The nodes that round a result for others."""
    return [
        user
        for user in node.users
        if user.op == "call_module" and isinstance(observer_of(user), _OBSERVER) and user.users
    ]


def _extend(
    part: UnroundedPart,
    prepared: GraphModule,
    node: Node,
    calibration: Calibration,
    *,
    is_needed: bool,
) -> bool:
    """Extends a part by a node and what reads it, until nothing unstorable is rounded.

    Returns: whether that is possible and, unless it is needed, right.
    """
    given = [each for each in prepared.graph.nodes if each.op == "placeholder"]
    given = given[: len(given) - calibration.states]
    last = [node]
    while True:
        readers = [reader for held in _held(part.result(node)) for reader in held.users]
        readers = [reader for reader in readers if reader.op != "output"]
        inputs = [node] if node.op == "placeholder" else []
        if set(inputs) - set(given):
            return False
        if not part.extend([*([] if inputs else [node]), *readers], inputs=inputs):
            return False
        part.read_by_outputs()
        last += readers
        origins = _Origins(prepared).of(calibration.noted)
        further = [each for each in prepared.graph.nodes if each in origins.needed and _held(each)]
        if not further:
            break
        if further[0] is node:
            return False
        (node, *_) = further
    resolution = OperandRounding(prepared, calibration.noted, _EXACT)
    # A layer whose results overflow in part has none left for those that do not.
    kept = any(
        all(
            [
                resolution.extend(part, each, given, without=without)
                for each in last
                if each.op == "call_function" and part.result(each).users
            ]
        )
        for without in (LAYERS, ())
    )
    return is_needed or kept


def _refusal(
    node: Node, origins: _Origins, calibration: Calibration, call_sites: Mapping[str, CallSite]
) -> InvalidRequest:
    """The error about what a node's unstorable numbers come from."""
    before = _all_before(node)
    cause = next((each for each in origins.arising if each in before), node)
    runs = calibration.run.unstorable
    number = min((runs[each] for each in runs if each in before), default=1)
    at = f"calibration sample {number}"
    if cause.op == "placeholder":
        return InvalidRequest(f"{at}: {cause.target} holds NaN", "give numbers")
    if cause.op == "get_attr":
        reader = next(iter(cause.users))
        while reader.op == "call_module":
            reader = next(iter(reader.users))
        what = "an output" if reader.op == "output" else f"a constant of {operator_name(reader)}"
        return InvalidRequest(
            f"{place_of(reader, call_sites)}{what} holds NaN",
            "train again, or replace it: torch.nan_to_num",
        )
    what = "NaN" if cause in origins.unknown else "infinite or vast numbers"
    return InvalidRequest(
        f"{place_of(cause, call_sites)}{operator_name(cause)} gives {what} for {at}",
        "keep its operands in range: torch.clamp; or replace what it gives: torch.nan_to_num",
    )


def _all_before(node: Node) -> set[Node]:
    """A node and all that it depends on."""
    reached, left = {node}, [node]
    while left:
        more = set(left.pop().all_input_nodes) - reached
        reached |= more
        left += more
    return reached

"""Gives maxima, minima and other choices the range of their results. Importing it imports torch.

The quantizer has all operands share the result's range. Elements that are never chosen, such as
those of `80 * z - 100` far below y in `maximum(y, 80 * z - 100)`, would take most of its steps:
they may stop at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver

from cmcompiler.frontend.joined_operands import round_for, width
from cmcompiler.frontend.joined_outputs import way_out
from cmcompiler.frontend.own_ranges import (
    GroupPart,
    GroupWatch,
    RangeChange,
    connected,
    held_to,
    is_free,
    observer_of,
)
from cmcompiler.frontend.rewrites.editing import fake, mark_as_clamped, owner

_ATEN = torch.ops.aten

_CHOICES = {_ATEN.maximum.default, _ATEN.minimum.default, _ATEN.where.self}

LEAST_RATIO = 2.0
"""Ratio of the shared range to the result's, at which it loses one of its eight bits."""


class ConditionMeter(torch.nn.Module):
    """Tells whether a choice takes elements of both sides; called with its condition."""

    def __init__(self) -> None:
        super().__init__()
        self.takes_one = self.takes_other = False

    def forward(self, condition: Tensor) -> None:
        self.takes_one |= bool(condition.any())
        self.takes_other |= not bool(condition.all())


class ChoiceWatch:
    """Observes each tensor that shares a range with a choice while calibration runs."""

    def __init__(self, prepared: GraphModule, watch: GroupWatch, *, is_portable: bool) -> None:
        self._prepared = prepared
        choices = set() if is_portable else _CHOICES
        self._choices = [node for node in prepared.graph.nodes if node.target in choices]
        groups = {observer_of(held): None for node in self._choices for held in _operands(node)}
        ranges = [each for each in groups if isinstance(each, HistogramObserver)]
        nodes = [held for group in ranges for held in held_to(group, prepared)]
        self._alone = {held: watch.alone(held) for held in nodes}
        self._meters: dict[Node, ConditionMeter] = {}
        for node in self._choices:
            if node.target is _ATEN.where.self:
                self._meters[node] = ConditionMeter()
                prepared.add_submodule(f"{node.name}_condition", self._meters[node])
                watch.call(f"{node.name}_condition", node, node.args[0])

    def give_own_ranges(self) -> None:
        """Gives choices a range of their own that is much narrower than the shared one."""
        graph = set(self._prepared.graph.nodes)
        groups: dict[Any, list[Node]] = {}
        for node in self._choices:
            operands = list(_operands(node)) if node in graph else []
            ranges = {observer_of(each) for each in operands}
            if len(ranges) == 1 and self._is_candidate(node):
                groups.setdefault(ranges.pop(), []).append(node)
        for group, choices in groups.items():
            self._divide(group, choices)
        self._prepared.recompile()

    def _is_candidate(self, node: Node) -> bool:
        """Whether calibration saw all that a choice may take, and something computes with it: what
        outputs hold can be joined in float. An extreme takes what it takes.
        """
        meter = self._meters.get(node)
        if meter is None:
            return True
        return meter.takes_one and meter.takes_other and way_out(node) is None

    def _divide(self, group: Any, choices: Sequence[Node]) -> None:
        """Gives the parts of a group that narrow choices divide it into a range each."""
        held = held_to(group, self._prepared)
        parts: dict[Node, frozenset[Node]] = {}
        narrow: Sequence[Node] = ()
        while choices != narrow:
            narrow, parts = choices, _parts(held, choices)
            choices = [node for node in narrow if self._is_narrow(group, held, node, parts)]
        if not choices:
            return
        names = self._named(group, held, parts)
        if names is None:
            return
        made = RangeChange()
        for node in choices:
            shared = names[parts[_results(held, node)[0]]]
            for source in _operands(node):
                part = parts[source]
                if part == {source} and (_is_constant(source) or _is_direct(source, node)):
                    made.give_own_range(GroupPart(source, node, (source,), shared))
                    continue
                side = GroupPart(source, node, tuple(part), names[part])
                round_for(side, made, shared=shared)
            for each in node.all_input_nodes:
                if each.target == shared:
                    mark_as_clamped(each.all_input_nodes[0])
        for part, name in names.items():
            still = tuple(each for each in part if observer_of(each) is group)
            if still:
                made.give_own_range(GroupPart(still[0], still[0], still, name))

    def _is_narrow(
        self, group: Any, held: Sequence[Node], node: Node, parts: Mapping[Node, frozenset[Node]]
    ) -> bool:
        """Whether a choice's part is apart from its operands' and much narrower than the group."""
        operands, results = list(_operands(node)), _results(held, node)
        if not results or all(map(_is_constant, operands)):
            return False
        result = parts[results[0]]
        constants = [each for each in operands if _is_constant(each)]
        own = self._together([*result, *constants], group)
        is_apart = not any(each in result for each in operands)
        return own is not None and is_apart and width(group) >= LEAST_RATIO * width(own) > 0

    def _named(
        self, group: Any, held: Sequence[Node], parts: Mapping[Node, frozenset[Node]]
    ) -> dict[frozenset[Node], str] | None:
        """An observer for each part; None if nothing is known of one.

        A constant that is chosen from takes part in the result's range.
        """
        names = {}
        for part in dict.fromkeys(parts[each] for each in held):
            chosen = [
                constant
                for each in part
                for constant in _operands(each.all_input_nodes[0])
                if _is_constant(constant)
            ]
            own = self._together([*part, *chosen], group)
            if own is None:
                return None
            names[part] = self._added(next(each for each in held if each in part), own)
        return names

    def _together(self, held: Iterable[Node], group: Any) -> MinMaxObserver | None:
        """A range that holds all that some nodes held; None if nothing is known of any."""
        names = [self._alone[each] for each in held if each in self._alone]
        seen: list[Any] = [self._prepared.get_submodule(name) for name in names]
        if not seen or not all(isinstance(each, MinMaxObserver) for each in seen):
            return None
        made = deepcopy(group)
        made.min_val = torch.stack([each.min_val.reshape(()) for each in seen]).amin()
        made.max_val = torch.stack([each.max_val.reshape(()) for each in seen]).amax()
        return made

    def _added(self, node: Node, observer: MinMaxObserver) -> str:
        name = f"{node.name}_chosen_range"
        while hasattr(self._prepared, name):
            name += "_"
        owner(node).add_submodule(name, observer)
        return name


def _parts(held: Sequence[Node], choices: Iterable[Node]) -> dict[Node, frozenset[Node]]:
    """The nodes that keep one range with each if choices are cut off from their operands."""
    cuts = {(each, node) for node in choices for each in _operands(node)}
    parts: dict[Node, frozenset[Node]] = {}
    for each in held:
        if each not in parts:
            part = frozenset(connected([each], list(held), cuts))
            parts.update(dict.fromkeys(part, part))
    return parts


def _results(held: Sequence[Node], node: Node) -> list[Node]:
    return [each for each in held if each.args[0] is node]


def _is_constant(held: Node) -> bool:
    return bool(held.all_input_nodes[0].op == "get_attr")


def _operands(node: Node) -> Iterable[Node]:
    """The nodes that hold what is chosen from to a range."""
    if node.target not in _CHOICES:
        return
    for each in dict.fromkeys(node.all_input_nodes):
        if each.op == "call_module" and fake(each.all_input_nodes[0]).is_floating_point():
            yield each


def _is_direct(held: Node, choice: Node) -> bool:
    """Whether nothing but the choice reads an operand that can be computed in any range."""
    (tensor,) = held.all_input_nodes
    return is_free(tensor) and set(tensor.users) == {held} and set(held.users) == {choice}

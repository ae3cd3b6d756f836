"""Tensors of two numbers, one where a bool is true and the other elsewhere, as masks are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.conditions import moved
from cmcompiler.frontend.rewrites.constants import number_of, uniform, value_of
from cmcompiler.frontend.rewrites.editing import fake, insert
from cmcompiler.frontend.rewrites.fixed_ranges import CASTS
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS as VIEWS
from cmcompiler.frontend.rewrites.functions import UNTAGGED
from cmcompiler.frontend.rewrites.masks import CHOICES, FARTHEST, FILLS

_ATEN = torch.ops.aten

VALUES = "values"
"""Key of a graph input's metadata: the two values that it has in all calibration inputs."""

MOVEMENTS = VIEWS | {
    *(_ATEN.repeat.default, _ATEN.repeat_interleave.self_int, _ATEN.flip.default),
    *(_ATEN.roll.default, _ATEN.narrow.default),
}
_TRUTHS = {_ATEN.logical_not.default, _ATEN.bitwise_not.default}


@dataclass(frozen=True, slots=True)
class TwoValued:
    """A tensor of two numbers, one where a bool tensor is true, the other elsewhere."""

    condition: Node
    true: float
    false: float


class TwoValuedTensors:
    """The two-valued tensors of a graph; `learn` takes its nodes in order."""

    def __init__(self) -> None:
        self._known: dict[Node, TwoValued] = {}

    def learn(self, node: Node) -> TwoValued | None:
        """The two values of a node, if it has no others."""
        two = self._derived(node)
        if two is not None:
            self._known[node] = two
        return two

    def _derived(self, node: Node) -> TwoValued | None:
        if not isinstance(node.meta.get("val"), Tensor):
            return None
        if VALUES in node.meta:
            return _of_input(node)
        if fake(node).dtype == torch.bool and node.target not in _TRUTHS:
            return None if value_of(node) is not None else TwoValued(node, 1.0, 0.0)
        if node.target in FILLS | CHOICES:
            return _of_choice(node)
        source = node.args[0] if node.args else None
        if node.target in MOVEMENTS and isinstance(source, Node) and source in self._known:
            two = self._known[source]
            return TwoValued(moved(node, two.condition), two.true, two.false)
        return self._function(node)

    def _function(self, node: Node) -> TwoValued | None:
        """An element-wise function of tensors that one condition decides."""
        if not is_elementwise(node):
            return None
        sources = [each for each in node.all_input_nodes if number_of(each) is None]
        known = [self._known[each] for each in sources if each in self._known]
        if not known or len(known) < len(sources) or len({two.condition for two in known}) > 1:
            return None
        results = [
            applied(node, {each: self._known[each].true for each in sources}),
            applied(node, {each: self._known[each].false for each in sources}),
        ]
        return TwoValued(known[0].condition, *results)


def is_sentinel(number: float | None) -> bool:
    return number is not None and abs(number) >= FARTHEST


def _of_input(node: Node) -> TwoValued | None:
    """An input that had 0 and one other value."""
    other = next(value for value in node.meta[VALUES] if value != 0)
    *_, last = (each for each in node.graph.nodes if each.op == "placeholder")
    first = last.next
    if is_sentinel(other) and fake(node).is_floating_point():
        # The quantizer has no rule for it, so that the input needs no range.
        return TwoValued(insert(first, _ATEN.logical_not.default, node), 0.0, other)
    return TwoValued(insert(first, _ATEN.eq.Scalar, node, 0), 0.0, other)


def _of_choice(node: Node) -> TwoValued | None:
    """A choice between two numbers by a mask that is computed."""
    if node.target in FILLS:
        false, condition, true = node.args[:3]
    else:
        condition, true, false = node.args[:3]
    if not isinstance(condition, Node) or value_of(condition) is not None:
        return None
    one, other = uniform(true), uniform(false)
    return None if one is None or other is None else TwoValued(condition, one, other)


def is_elementwise(node: Node) -> bool:
    target = node.target
    if not isinstance(target, OpOverload) or target._schema.is_mutable:
        return False
    return torch.Tag.pointwise in target.tags or target in UNTAGGED | CASTS


def applied(node: Node, numbers: dict[Node, float]) -> float:
    """The result of an element-wise operator for numbers in place of its tensors."""

    def scalar(each: Node) -> Any:
        number = numbers[each] if each in numbers else number_of(each)
        return torch.tensor(number, dtype=fake(each).dtype)

    assert isinstance(node.target, OpOverload)
    result = node.target(*map_arg(node.args, scalar), **map_arg(node.kwargs, scalar))
    return float(result)

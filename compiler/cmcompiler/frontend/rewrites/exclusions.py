"""Masks in one form, however they are spelled: a bool that is true for the elements that count.

A mask is a number far below (or above) all others, a sentinel, that is added to, filled into or
chosen for the elements to leave out. In an int8 range it would leave no steps for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.conditions import as_large, both, moved, negated
from cmcompiler.frontend.rewrites.constants import number_of, uniform, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments
from cmcompiler.frontend.rewrites.masks import CHOICES, FARTHEST, FILLS
from cmcompiler.frontend.rewrites.two_valued import (
    MOVEMENTS,
    TwoValued,
    TwoValuedTensors,
    applied,
    is_elementwise,
)

_ATEN = torch.ops.aten

NEGLIGIBLE = 64.0
"""Limit of a summand of a score, which divides its weight by e to the 64, beside any other."""

PADS = {_ATEN.constant_pad_nd.default, _ATEN.pad.default}
LINEAR = {
    *(_ATEN.mul.Tensor, _ATEN.div.Tensor, _ATEN.add.Tensor, _ATEN.sub.Tensor),
    *(_ATEN.rsub.Scalar, _ATEN.neg.default, _ATEN.mul.Scalar, _ATEN.div.Scalar),
}
"""Operators that keep a sentinel what it is, if their other operand is a number."""
_SUMS = {_ATEN.add.Tensor, _ATEN.sub.Tensor}
_BOUNDS = {_ATEN.maximum.default, _ATEN.minimum.default, _ATEN.clamp.default}


@dataclass(frozen=True, slots=True)
class Excluded:
    """A tensor that holds a sentinel where a mask excludes an element.

    Attributes:
        value: what it holds elsewhere: another tensor, or one number.
        kept: bool, broadcasts to the tensor, true where `value` counts.
        number: the sentinel.
        is_margin: whether the sentinels are infinite ones around or beside other elements.
        is_added: whether the sentinel is added to what `value` holds, also where it is excluded.
    """

    value: Node | float
    kept: Node
    number: float
    is_margin: bool = False
    is_added: bool = False

    @property
    def is_far(self) -> bool:
        """Whether nothing computed from other elements comes near the sentinel."""
        return abs(self.number) >= FARTHEST

    def spelled(self, at: Node, shape: Iterable[int], number: float | None = None) -> Node:
        """The tensor as a choice between its elements and the sentinel, or another number.

        Args:
            at: before which it is inserted.
            shape: of the tensor.
        """
        value = self.value
        if not isinstance(value, Node):
            value = constant(at, f"{at.name}_value", torch.full((1,), value))
        chosen = self.number if number is None else number
        value = as_large(at, value, shape)
        return insert(at, _ATEN.where.ScalarOther, self.kept, value, chosen)


class Exclusions:
    """Knowledge of the nodes of a graph; `learn` takes them in the graph's order."""

    def __init__(self) -> None:
        self._excluded: dict[Node, Excluded] = {}
        self._two_valued = TwoValuedTensors()

    def of(self, node: Any) -> Excluded | None:
        return self._excluded.get(node) if isinstance(node, Node) else None

    def forget(self, node: Node) -> None:
        self._excluded.pop(node, None)

    def learn(self, node: Node) -> None:
        value = node.meta.get("val")
        if not isinstance(value, Tensor) or node.op in ("get_attr", "output"):
            return
        two = self._two_valued.learn(node)
        if two is not None:
            excluded = _of_two(node, two) if value.dtype == torch.float32 else None
        else:
            excluded = self._derived(node) if value.dtype == torch.float32 else None
        if excluded is not None:
            self._excluded[node] = excluded

    def _derived(self, node: Node) -> Excluded | None:
        for operators, derive in (
            (FILLS | CHOICES, self._chosen),
            (MOVEMENTS, self._moved),
            (PADS, self._padded),
            ({_ATEN.cat.default}, self._joined),
            ({*_SUMS, _ATEN.baddbmm.default}, self._summed),
        ):
            if node.target in operators:
                return derive(node)
        bounded = self._bounded(node) if node.target in _BOUNDS else None
        return bounded or self._function(node)

    def _chosen(self, node: Node) -> Excluded | None:
        """A fill, or a choice with a number, of elements that may hold a sentinel already."""
        condition, kept_when, x, number = _choice(node)
        if number is None or not isinstance(x, Node) or not isinstance(condition, Node):
            return None
        earlier = self.of(x)
        if abs(number) < (NEGLIGIBLE if earlier is None else FARTHEST):
            return None
        kept = condition if kept_when else negated(node, condition)
        if earlier is None:
            return Excluded(x, kept, number)
        if not _agree(earlier.number, number):
            return None
        return Excluded(earlier.value, both(node, earlier.kept, kept), number)

    def _moved(self, node: Node) -> Excluded | None:
        source = self.of(node.args[0])
        if source is None:
            return None
        value = source.value
        if isinstance(value, Node):
            value = moved(node, value)
        kept = moved(node, source.kept)
        return Excluded(value, kept, source.number, source.is_margin, source.is_added)

    def _padded(self, node: Node) -> Excluded | None:
        """With a margin of sentinels, or of ordinary numbers around a tensor that holds some."""
        source, sides, number = node.args[0], node.args[1], padding_of(node)
        if not isinstance(source, Node) or number is None:
            return None
        known, pad = self.of(source), _ATEN.constant_pad_nd.default
        if known is None:
            if abs(number) < NEGLIGIBLE:
                return None
            inside = torch.ones(fake(source).shape, dtype=torch.bool)
            kept = constant(node, f"{node.name}_kept", pad(inside, sides, False))
            inner = insert(node, pad, source, sides, 0.0)
            return Excluded(inner, kept, number, math.isinf(number))
        if abs(number) >= NEGLIGIBLE:
            return None
        value, whole = known.value, as_large(node, known.kept, fake(source).shape)
        if isinstance(value, Node):
            value = insert(node, pad, as_large(node, value, fake(source).shape), sides, number)
        elif value != number:
            return None
        kept = insert(node, pad, whole, sides, True)
        return Excluded(value, kept, known.number, is_added=known.is_added)

    def _joined(self, node: Node) -> Excluded | None:
        parts: Any = node.args[0]
        known = [self._part(node, part) for part in parts]
        numbers = [each.number for each in known if isinstance(each, Excluded)]
        if not numbers or not all(_agree(number, numbers[0]) for number in numbers):
            return None
        values, kept = [], []
        for part, each in zip(parts, known, strict=True):
            shape = fake(part).shape
            if isinstance(each, Excluded):
                value: Any = each.value
                if not isinstance(value, Node):
                    value = constant(node, f"{node.name}_value", torch.full((1,), value))
                values.append(as_large(node, value, shape))
                kept.append(as_large(node, each.kept, shape))
            else:
                values.append(part)
                ones = torch.ones(shape, dtype=torch.bool)
                kept.append(constant(node, f"{node.name}_kept", ones))
        joined = insert(node, node.target, values, *node.args[1:])  # type: ignore[arg-type]
        is_margin = all(self._is_margin(part) for part in parts)
        constants = [value_of(each) for each in kept]
        if all(each is not None for each in constants):
            whole = torch.cat(constants, *node.args[1:])  # type: ignore[arg-type]
            mask = constant(node, f"{node.name}_kept", whole)
        else:
            mask = insert(node, _ATEN.cat.default, kept, *node.args[1:])
        return Excluded(joined, mask, numbers[0], is_margin)

    def _is_margin(self, part: Node) -> bool:
        """Whether the sentinels of an operand, if any, are those of margins."""
        known, value = self.of(part), value_of(part)
        if known is not None:
            return known.is_margin
        return value is None or not bool((value.isfinite() & (value.abs() >= FARTHEST)).any())

    def _summed(self, node: Node) -> Excluded | None:
        first, second = node.args[:2]
        if node.target is _ATEN.baddbmm.default:
            if node.kwargs:
                return None
            product = insert(node, _ATEN.bmm.default, *node.args[1:])
            return self._sum(node, product, first, 1)
        if node.kwargs.get("alpha", 1) != 1:
            return None
        return self._sum(node, first, second, 1 if node.target is _ATEN.add.Tensor else -1)

    def _sum(self, node: Node, first: Any, second: Any, sign: int) -> Excluded | None:
        parts = [self._part(node, first), self._part(node, second)]
        one, other = parts
        if isinstance(other, Excluded):
            other = Excluded(other.value, other.kept, sign * other.number)
        if isinstance(one, Excluded) and isinstance(other, Excluded):
            if not _agree(one.number, other.number):
                return None
            kept, number = both(node, one.kept, other.kept), one.number + other.number
        elif isinstance(one, Excluded) or isinstance(other, Excluded):
            masked = one if isinstance(one, Excluded) else other
            assert isinstance(masked, Excluded)
            kept, number = masked.kept, masked.number
        else:
            return None
        first, second = (x.value if isinstance(x, Excluded) else x for x in (one, other))
        return Excluded(_total(node, first, second, sign), kept, number, is_added=True)

    def _part(self, node: Node, operand: Any) -> Any:
        """An operand of a sum; constants that hold sentinels apart from these."""
        if not isinstance(operand, Node):
            return operand
        known = self.of(operand)
        if known is not None:
            return known
        value = value_of(operand)
        return operand if value is None else _of_constant(node, operand, value)

    def _bounded(self, node: Node) -> Excluded | None:
        """With a bound beyond all other elements, which only sentinels can reach."""
        sources = [each for each in node.all_input_nodes if self.of(each) is not None]
        if len(sources) != 1:
            return None
        known = self.of(sources[0])
        assert known is not None
        given = named_arguments(node)
        if node.target is _ATEN.clamp.default:
            bounds = [bound for bound in (given["min"], given["max"]) if bound is not None]
        else:
            other = given["other"] if given["self"] is sources[0] else given["self"]
            bounds = [uniform(other)]
        is_beyond = all(bound is not None and abs(bound) >= FARTHEST for bound in bounds)
        if not is_beyond or not all(_agree(bound, known.number) for bound in bounds):
            return None
        return Excluded(known.value, known.kept, _nearest_to_zero([known.number, *bounds]))

    def _function(self, node: Node) -> Excluded | None:
        """An element-wise function of one tensor: of its value, and of its sentinel."""
        if not is_elementwise(node):
            return None
        sources = [each for each in node.all_input_nodes if number_of(each) is None]
        known = self.of(sources[0]) if len(sources) == 1 else None
        if known is None or not isinstance(known.value, Node):
            return None
        number = applied(node, {sources[0]: known.number})
        if math.isnan(number):
            return None
        value = as_large(node, known.value, fake(sources[0]).shape)
        given = map_arg(node.args, lambda each: value if each is sources[0] else each)
        assert isinstance(node.target, OpOverload)
        return Excluded(insert(node, node.target, *given, **node.kwargs), known.kept, number)


def padding_of(node: Node) -> float | None:
    """The number with which a node pads."""
    given = named_arguments(node)
    if given.get("mode", "constant") != "constant":
        return None
    return uniform(given["value"] or 0.0)


def limited(value: Tensor) -> Tensor | None:
    """A constant with infinities in place of its sentinels; None if it has none."""
    far = value.abs() >= FARTHEST
    return torch.where(far, value.sign() * torch.inf, value) if far.any() else None


def _of_two(node: Node, two: TwoValued) -> Excluded | None:
    """One of two numbers, if it is a sentinel beside the other."""
    if two.true < two.false:
        kept, value, number = None, two.false, two.true
    else:
        kept, value, number = two.condition, two.true, two.false
    sizes = sorted((abs(value), abs(number)))
    if not sizes[1] >= NEGLIGIBLE or sizes[0] >= NEGLIGIBLE:
        return None
    if abs(value) > abs(number):
        value, number = number, value
        kept = two.condition if kept is None else None
    return Excluded(value, negated(node, two.condition) if kept is None else kept, number)


def _of_constant(node: Node, operand: Node, value: Tensor) -> Node | Excluded:
    if not value.is_floating_point():
        return operand
    far = value.abs() >= FARTHEST
    levels = torch.unique(value)
    if len(levels) == 2 and levels[1] == 0 and levels[0] <= -NEGLIGIBLE:
        far = value == levels[0]
    if not far.any():
        return operand
    numbers = value[far]
    number = float(numbers[numbers.abs().argmin()])
    if not bool((numbers.sign() == numbers[0].sign()).all()):
        return operand
    rest = torch.where(far, 0.0, value)
    kept = constant(node, f"{node.name}_kept", ~far)
    if not rest.any():
        return Excluded(0.0, kept, number)
    return Excluded(constant(node, f"{node.name}_added", rest), kept, number)


def _choice(node: Node) -> tuple[Any, bool, Any, float | None]:
    """Condition, when it keeps the tensor, the tensor, and the number elsewhere."""
    if node.target in FILLS:
        x, condition, number = node.args[:3]
        return condition, False, x, uniform(number)
    condition, x, other = node.args[:3]
    if uniform(other) is not None:
        return condition, True, x, uniform(other)
    return condition, False, other, uniform(x)


def _agree(one: float, other: float) -> bool:
    return (one < 0) == (other < 0)


def _nearest_to_zero(numbers: Iterable[float]) -> float:
    return min(numbers, key=abs)


def _total(node: Node, one: Any, other: Any, sign: int) -> Node | float:
    """The sum of two operands of a node, without those that are 0."""
    if not isinstance(one, Node) and not isinstance(other, Node):
        return float(one + sign * other)
    for kept, left in ((one, other), (other, one)):
        is_plain = kept is one or sign == 1
        if isinstance(kept, Node) and not isinstance(left, Node) and left == 0 and is_plain:
            return as_large(node, kept, fake(node).shape)
    operator = _ATEN.add.Tensor if sign == 1 else _ATEN.sub.Tensor
    if not isinstance(one, Node):
        if sign == 1:
            return insert(node, operator, other, one)
        return insert(node, _ATEN.rsub.Scalar, other, one)
    return insert(node, operator, one, other)

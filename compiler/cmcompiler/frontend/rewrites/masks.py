"""Fills and other choices as choices between tensors, for which the quantizer has a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.conditions import as_large
from cmcompiler.frontend.rewrites.constants import number_of, uniform
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, replace

_ATEN = torch.ops.aten

FILLS = {_ATEN.masked_fill.Scalar, _ATEN.masked_fill.Tensor}
CHOICES = {
    *(_ATEN.where.self, _ATEN.where.Scalar),
    *(_ATEN.where.ScalarSelf, _ATEN.where.ScalarOther),
}

FARTHEST = 1e4
"""A number of this size only stands for one beyond all others, and would take an int8 range."""

SENTINEL = "sentinel"
"""Key of the metadata of a choice, or of attention with a mask: the Sentinel where it excludes."""

_ORDERS = {_ATEN.sort.default, _ATEN.sort.stable, _ATEN.argsort.default, _ATEN.argsort.stable}

LARGEST = {
    *_ORDERS,
    *(_ATEN.amax.default, _ATEN.max.dim, _ATEN.argmax.default, _ATEN.cummax.default),
    *(_ATEN.max_pool1d.default, _ATEN.max_pool2d.default, _ATEN.max_pool3d.default),
    *(_ATEN.adaptive_max_pool1d.default, _ATEN.adaptive_max_pool2d.default, _ATEN.topk.default),
}
LEAST = {
    *_ORDERS,
    *(_ATEN.amin.default, _ATEN.min.dim, _ATEN.argmin.default, _ATEN.cummin.default),
}


class Sentinel(NamedTuple):
    """The value of scores that a mask excludes.

    Attributes:
        is_added: the number is added to them, and does not take their place.
    """

    number: float
    is_added: bool = False


def sentinel_of(node: Node, number: float) -> Sentinel:
    """The meaning of a choice with a number."""
    return Sentinel(*node.meta.get(SENTINEL, (number,)))


def choose_for_masks(module: GraphModule) -> None:
    """Gives numbers the range of the tensor that they are chosen with.

    Those beyond all others stay, unless the least or largest element takes their place: where it
    cannot become the result.
    """
    for node in list(module.graph.nodes):
        if node.target is _ATEN.mul.Tensor:
            _select(node)
    for node in list(module.graph.nodes):
        if node.target in {*FILLS, *CHOICES} and fake(node).dtype == torch.float32:
            _separate_orders(node)
    for node in list(module.graph.nodes):
        if node.target in {*FILLS, *CHOICES} and fake(node).dtype == torch.float32:
            _choose(node)


def _separate_orders(node: Node) -> None:
    """Gives what only looks for extremes a choice of its own, if others read the same sentinels."""
    far = [number for each in node.args if (number := uniform(each)) and _is_far(number)]
    if len(far) != 1:
        return
    extremes = LARGEST if far[0] < 0 else LEAST
    orders = [user for user in node.users if user.target in extremes]
    if orders and len(orders) < len(node.users):
        own = insert(node, _target(node), *node.args)
        for user in orders:
            user.replace_input_with(node, own)


def _choose(node: Node) -> None:
    given: Sequence[Any] = node.args
    condition, *sides = given
    if node.target in FILLS:
        x, condition, number = given
        sides = [number, x]
    numbers = [_number(side) for side in sides]
    far = [number for number in numbers if number is not None and _is_far(number)]
    if node.target is _ATEN.where.self and not far:
        return
    if len(far) == 1 and None in numbers:
        stand_in = _extreme(node, sides[numbers.index(None)], far[0])
        if stand_in is None:
            _choose_in_float(node, condition, sides, far[0])
            return
        sides[numbers.index(far[0])] = stand_in
    elif far:
        return
    tensors = (
        constant(node, f"{node.name}_number", torch.tensor([float(number)]))
        if number is not None and number not in far
        else side
        if isinstance(side, Node)
        else constant(node, f"{node.name}_number", torch.tensor([float(side)]))
        for side, number in zip(sides, numbers, strict=True)
    )
    replace(node, insert(node, _ATEN.where.self, condition, *tensors))


def _number(side: Any) -> float | None:
    """A number, or a sentinel as a tensor of nothing else."""
    number = uniform(side)
    return number if _is_far(number) else number_of(side)


def _is_far(number: float | None) -> bool:
    return number is not None and abs(number) >= FARTHEST


def _choose_in_float(node: Node, condition: Any, sides: Sequence[Any], number: float) -> None:
    """Has a choice of one tensor between others be one of a number, for which the quantizer has no
    rule: the sentinel would take all of an int8 range.
    """
    if node.target is not _ATEN.where.self:
        return
    is_first = uniform(sides[0]) == number
    operator = _ATEN.where.ScalarSelf if is_first else _ATEN.where.ScalarOther
    x = as_large(node, sides[1 if is_first else 0], fake(node).shape)
    replace(node, insert(node, operator, condition, *((number, x) if is_first else (x, number))))


def _target(node: Node) -> OpOverload:
    assert isinstance(node.target, OpOverload)
    return node.target


def _extreme(node: Node, x: Any, number: float) -> Node | None:
    """The element of a tensor farthest towards a number, if only the others are of interest."""
    users = LARGEST if number < 0 else LEAST
    if not node.users or any(user.target not in users for user in node.users):
        return None
    operator = _ATEN.amin.default if number < 0 else _ATEN.amax.default
    return insert(node, operator, x, list(range(fake(x).ndim)), True)


def _select(node: Node) -> None:
    """Products with a bool as 1 or 0."""
    for x, mask in (node.args, node.args[::-1]):
        if not isinstance(mask, Node) or mask.target is not _ATEN.where.Scalar:
            continue
        if mask.args[1:] == (1.0, 0.0) and isinstance(x, Node):
            zero = constant(node, f"{node.name}_zero", torch.zeros(1))
            replace(node, insert(node, _ATEN.where.self, mask.args[0], x, zero))
            return

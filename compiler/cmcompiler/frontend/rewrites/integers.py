"""Operators on integers by others that have kernels."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

_Given = dict[str, Any]

_ARITHMETIC = {
    *(_ATEN.add.Tensor, _ATEN.sub.Tensor, _ATEN.mul.Tensor, _ATEN.div.Tensor),
    *(_ATEN.maximum.default, _ATEN.minimum.default),
}
"""Operators that have integers among numbers as numbers."""

LARGEST_SHIFT = 30
"""Bits; powers of two up to here are numbers of int32."""


def spell_integers(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        spell = _SPELLINGS.get(node.target)
        made = None if spell is None else spell(node, named_arguments(node))
        if made is not None:
            replace(node, made)
    for node in list(module.graph.nodes):
        if node.target in _ARITHMETIC and fake(node).is_floating_point():
            for place in filter(_is_place, node.all_input_nodes):
                node.replace_input_with(
                    place, insert(node, _ATEN.to.dtype, place, fake(node).dtype)
                )


def _is_place(node: Node) -> bool:
    """Whether integers are made of the places that an operator gives beside its elements."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.is_floating_point() or value.dtype == torch.bool:
        return False
    return node.target is getitem or any(map(_is_place, node.all_input_nodes))


def _truth(node: Node, given: _Given) -> Node | None:
    """Whether any or all bytes are not 0, as a byte."""
    source = given["self"]
    if fake(source).dtype != torch.uint8:
        return None
    bools = insert(node, _ATEN.ne.Scalar, source, 0)
    assert callable(node.target)
    truth = insert(node, node.target, bools, *node.args[1:], **node.kwargs)
    return insert(node, _ATEN.to.dtype, truth, fake(node).dtype)


def _raised(node: Node, given: _Given) -> Node | None:
    factor = _power(given["other"])
    if factor is None:
        return _shifted(node, given, _ATEN.bitwise_left_shift.Tensor)
    return insert(node, _ATEN.mul.Scalar, given["self"], factor)


def _lowered(node: Node, given: _Given) -> Node | None:
    """Right shifts keep the sign: they round down."""
    divisor = _power(given["other"])
    if divisor is None:
        return _shifted(node, given, _ATEN.bitwise_right_shift.Tensor)
    return insert(node, _ATEN.div.Scalar_mode, given["self"], divisor, rounding_mode="floor")


def _shifted(node: Node, given: _Given, operator: OpOverload) -> Node | None:
    """Shifts by tensors have one name: an operator's is Python's own otherwise."""
    if node.target is operator or not isinstance(given["other"], Node):
        return None
    return insert(node, operator, given["self"], given["other"])


def _power(shift: Any) -> Any:
    bits = number_of(shift)
    return 1 << bits if isinstance(bits, int) and 0 <= bits <= LARGEST_SHIFT else None


def _running(node: Node, given: _Given) -> Node | None:
    """Running sums in as few bits wrap around, as do those of more bits once they are cut."""
    kind = fake(node).dtype
    if kind not in (torch.int8, torch.int16, torch.uint8):
        return None
    wide = insert(node, _ATEN.to.dtype, given["self"], torch.int64)
    sums = insert(node, _ATEN.cumsum.default, wide, given["dim"])
    return insert(node, _ATEN.to.dtype, sums, kind)


def _bucketed(node: Node, given: _Given) -> Node | None:
    """How many boundaries lie below each number."""
    edges = given["boundaries"] if "boundaries" in given else given["sorted_sequence"]
    if not isinstance(given["self"], Node) or fake(edges).ndim != 1 or given.get("sorter"):
        return None
    is_right = given["right"] or given.get("side") == "right"
    compare = _ATEN.ge.Tensor if is_right else _ATEN.gt.Tensor
    each = insert(node, compare, insert(node, _ATEN.unsqueeze.default, given["self"], -1), edges)
    ones = insert(node, _ATEN.to.dtype, each, fake(node).dtype)
    count = insert(node, _ATEN.sum.dim_IntList, ones, [-1])
    is_same = fake(count).dtype == fake(node).dtype
    return count if is_same else insert(node, _ATEN.to.dtype, count, fake(node).dtype)


_SPELLINGS: dict[Any, Callable[[Node, _Given], Node | None]] = {
    **dict.fromkeys((_ATEN.any.default, _ATEN.any.dim, _ATEN.any.dims), _truth),
    **dict.fromkeys((_ATEN.all.default, _ATEN.all.dim, _ATEN.all.dims), _truth),
    **dict.fromkeys((_ATEN.__lshift__.Scalar, _ATEN.__lshift__.Tensor), _raised),
    **dict.fromkeys((_ATEN.__rshift__.Scalar, _ATEN.__rshift__.Tensor), _lowered),
    _ATEN.bitwise_left_shift.Tensor: _raised,
    _ATEN.bitwise_left_shift.Tensor_Scalar: _raised,
    _ATEN.bitwise_right_shift.Tensor: _lowered,
    _ATEN.bitwise_right_shift.Tensor_Scalar: _lowered,
    _ATEN.cumsum.default: _running,
    _ATEN.bucketize.Tensor: _bucketed,
    _ATEN.searchsorted.Tensor: _bucketed,
}

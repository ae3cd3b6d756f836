"""Operators on integers by others that have kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

_Given = dict[str, Any]

_JOINING = {_ATEN.cat.default, _ATEN.stack.default, _ATEN.where.self}
_SUMS = {
    *(_ATEN.add.Tensor, _ATEN.sub.Tensor, _ATEN.div.Tensor, _ATEN.pow.Tensor_Tensor),
    *(_ATEN.maximum.default, _ATEN.minimum.default, _ATEN.cat.default, _ATEN.stack.default),
}
"""Operators that have bools among numbers as numbers; products choose by them, as others do."""

LARGEST_SHIFT = 30
"""Bits; powers of two up to here are numbers of int32."""


def spell_integers(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        spell = _SPELLINGS.get(node.target)
        made = None if spell is None else spell(node, named_arguments(node))
        if made is not None:
            replace(node, made)
    for node in list(module.graph.nodes):
        kind = _promoted(node)
        for source in [] if kind is None else node.all_input_nodes:
            if _is_integer(source) or (_is_bool(source) and node.target in _SUMS):
                cast = insert(node, _ATEN.to.dtype, source, kind)
                node.replace_input_with(source, cast)


def _promoted(node: Node) -> torch.dtype | None:
    """The type of floats as which an operator computes integers among them; else None."""
    target = node.target
    if not isinstance(target, OpOverload) or target._schema.is_mutable:
        return None
    if torch.Tag.pointwise not in target.tags and target not in _JOINING:
        return None
    kinds = {each.meta["val"].dtype for each in node.all_input_nodes if _is_tensor(each)}
    floats = {kind for kind in kinds if kind.is_floating_point}
    return floats.pop() if len(floats) == 1 < len(kinds) else None


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), Tensor)


def _is_bool(node: Node) -> bool:
    return _is_tensor(node) and fake(node).dtype == torch.bool and number_of(node) is None


def _is_integer(node: Node) -> bool:
    """Whether a node gives integers, more than one number that operators take as it is."""
    if not _is_tensor(node) or _is_bool(node):
        return False
    value = fake(node)
    is_float = value.is_floating_point() or value.is_complex()
    return not is_float and number_of(node) is None


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

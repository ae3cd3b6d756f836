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
from cmcompiler.frontend.rewrites.editing import fake, insert
from cmcompiler.frontend.rewrites.traced import Rule, Traced, apply_rules

_ATEN = torch.ops.aten

_JOINING = {_ATEN.cat.default, _ATEN.stack.default, _ATEN.where.self}
_CHOICES = {_ATEN.where.ScalarSelf, _ATEN.where.ScalarOther}
"""Operators on one tensor and a number, which may be a fraction."""
_SUMS = {
    *(_ATEN.add.Tensor, _ATEN.sub.Tensor, _ATEN.div.Tensor, _ATEN.pow.Tensor_Tensor),
    *(_ATEN.maximum.default, _ATEN.minimum.default, _ATEN.cat.default, _ATEN.stack.default),
}
"""Operators that have bools among numbers as numbers; products choose by them, as others do."""

LARGEST_SHIFT = 30
"""Bits; powers of two up to here are numbers of int32."""


def spell_integers(module: GraphModule) -> None:
    apply_rules(module, _RULES)
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
    if torch.Tag.pointwise not in target.tags and target not in _JOINING | _CHOICES:
        return None
    kinds = {each.meta["val"].dtype for each in node.all_input_nodes if _is_tensor(each)}
    if target in _CHOICES:
        kinds.add(fake(node).dtype)
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


def _truth(whether: Callable[..., Any]) -> Rule:
    """Whether any or all bytes are not 0, as a byte."""

    def rule(self: Any, out: Any) -> Any:
        return whether(self.ne(0)).to(out.dtype) if self.dtype == torch.uint8 else None

    return rule


def _truth_along(whether: Callable[..., Any]) -> Rule:
    def rule(self: Any, dim: Any, keepdim: bool, out: Any) -> Any:
        if self.dtype != torch.uint8:
            return None
        given = (dim, keepdim) if keepdim else (dim,)
        return whether(self.ne(0), *given).to(out.dtype)

    return rule


def _shift(operator: Any, by_power: Callable[[Any, int], Any]) -> Rule:
    """Shifts by a number are products or quotients; those by tensors get one name, as an operator's
    is Python's own otherwise.
    """

    def rule(self: Any, other: Any) -> Any:
        factor = _power(other.node if isinstance(other, Traced) else other)
        if factor is not None:
            return by_power(self, factor)
        return operator(self, other) if isinstance(other, Traced) else None

    return rule


def _power(shift: Any) -> Any:
    bits = number_of(shift)
    return 1 << bits if isinstance(bits, int) and 0 <= bits <= LARGEST_SHIFT else None


def _running(self: Any, dim: int, out: Any) -> Any:
    """Running sums in as few bits wrap around, as do those of more bits once they are cut."""
    if out.dtype not in (torch.int8, torch.int16, torch.uint8):
        return None
    return self.to(torch.int64).cumsum(dim).to(out.dtype)


_PLACING = frozenset({"topk", "sort", "max", "min", "median", "nanmedian", "kthvalue", "mode"})
"""Operators whose second result is where their elements were."""


def _places_in_order(self: Any, dim: int, descending: bool) -> Any:
    """The places of elements in order, of places, too."""
    # int32 holds places.
    are_places = self.node.target in (_ATEN.argmax.default, _ATEN.argmin.default)
    numbers = self.to(torch.int32) if are_places or is_place(self.node) else self
    return numbers.sort(stable=True, dim=dim, descending=descending)[1]


def is_place(node: Node) -> bool:
    """Whether a node is the second result of an operator that gives places of its elements."""
    if node.target is not getitem or node.args[1] != 1:
        return False
    source = getattr(node.all_input_nodes[0].target, "overloadpacket", None)
    return getattr(source, "__name__", "") in _PLACING


def _bucketed(self: Any, edges: Any, is_right: bool, kind: torch.dtype) -> Any:
    """How many boundaries lie below each number."""
    if not isinstance(self, Traced) or edges.ndim != 1:
        return None
    numbers = self.unsqueeze(-1)
    each = numbers.ge(edges) if is_right else numbers.gt(edges)
    count = each.to(kind).sum([-1])
    return count if count.dtype == kind else count.to(kind)


def _searched(
    self: Any, sorted_sequence: Any, *, right: bool, side: str | None, sorter: Any, out: Any
) -> Any:
    if sorter is not None:
        return None
    return _bucketed(self, sorted_sequence, right or side == "right", out.dtype)


_raised = _shift(_ATEN.bitwise_left_shift.Tensor, _ATEN.mul.Scalar)
_lowered = _shift(
    # Right shifts keep the sign: they round down.
    _ATEN.bitwise_right_shift.Tensor,
    lambda x, divisor: _ATEN.div.Scalar_mode(x, divisor, rounding_mode="floor"),
)

_RULES: dict[Any, Rule] = {
    _ATEN.any.default: _truth(_ATEN.any.default),
    _ATEN.any.dim: _truth_along(_ATEN.any.dim),
    _ATEN.any.dims: _truth_along(_ATEN.any.dims),
    _ATEN.all.default: _truth(_ATEN.all.default),
    _ATEN.all.dim: _truth_along(_ATEN.all.dim),
    _ATEN.all.dims: _truth_along(_ATEN.all.dims),
    **dict.fromkeys((_ATEN.__lshift__.Scalar, _ATEN.__lshift__.Tensor), _raised),
    **dict.fromkeys((_ATEN.__rshift__.Scalar, _ATEN.__rshift__.Tensor), _lowered),
    _ATEN.bitwise_left_shift.Tensor: _raised,
    _ATEN.bitwise_left_shift.Tensor_Scalar: _raised,
    _ATEN.bitwise_right_shift.Tensor: _lowered,
    _ATEN.bitwise_right_shift.Tensor_Scalar: _lowered,
    _ATEN.cumsum.default: _running,
    _ATEN.argsort.default: _places_in_order,
    _ATEN.argsort.stable: _places_in_order,
    _ATEN.msort.default: lambda self: self.sort(stable=True, dim=0)[0],
    _ATEN.bucketize.Tensor: lambda self, boundaries, right, out: _bucketed(
        self, boundaries, right, out.dtype
    ),
    _ATEN.searchsorted.Tensor: _searched,
}

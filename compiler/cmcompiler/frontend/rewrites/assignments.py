"""Elements assigned by constant indices, `x[:, 0] = y`, as tensors that are joined and picked."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of, value_of
from cmcompiler.frontend.rewrites.editing import fake
from cmcompiler.frontend.rewrites.traced import Rule, Traced, apply_rule, held

_ATEN = torch.ops.aten

MOST_PLACES = 1 << 14
"""Numbers of the matrix that adds up elements."""


def join_assignments(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        rule = _RULES.get(node.target)
        if rule is not None and fake(node).dtype == torch.float32:
            apply_rule(node, rule)


def _copied(src: Any, out: Any) -> Any:
    return _spread(src, list(out.shape)) if src.dtype == out.dtype else None


def _uniform(self: Any, value: Any, out: Any) -> Any:
    """A number as a tensor, so that it takes part in the range and is rounded as others there."""
    number = number_of(value.node if isinstance(value, Traced) else value)
    if number is not None:
        value = held(self, torch.full([1] * out.ndim, float(number)))
    elif value.dtype != out.dtype:
        value = value.to(out.dtype)
    return _spread(value, list(out.shape))


def _spread(value: Any, shape: list[int]) -> Any:
    return value if list(value.shape) == shape else value.expand(shape)


def _row(self: Any, src: Any, dim: int, index: int) -> Any:
    place = index % self.shape[dim]
    row = src.unsqueeze(dim % self.ndim)
    return _replaced(self, row, dim, range(place, place + 1))


def _slice(self: Any, src: Any, dim: int, *, start: Any, end: Any, step: int) -> Any:
    return _replaced(self, src, dim, range(self.shape[dim])[start:end:step])


def _rows(self: Any, dim: int, index: Any, source: Any) -> Any:
    places = value_of(index.node)
    if places is None or places.ndim != 1:
        return None
    return _replaced(self, source, dim, places.tolist())


def _filled(self: Any, dim: int, index: Any, value: Any) -> Any:
    places = value_of(index.node)
    number = number_of(value.node if isinstance(value, Traced) else value)
    if places is None or number is None:
        return None
    chosen = torch.zeros(self.shape[dim], dtype=torch.bool)
    chosen[places] = True
    shape = [1] * self.ndim
    shape[dim] = -1
    return _ATEN.masked_fill.Scalar(self, chosen.reshape(shape), number)


def _put(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """Replaces or grows elements at places of one or more dimensions next to each other."""
    shape = list(self.shape)
    named = _places([each and each.node for each in indices], shape)
    if named is None:
        return None
    first, last, form, places = named
    before, after = shape[:first], shape[last:]
    values = _shaped(_spread(values, [*before, *form, *after]), [*before, len(places), *after])
    flat = _shaped(self, [*before, prod(shape[first:last]), *after])
    made = (grown if accumulate else _replaced)(flat, values, first, places)
    return None if made is None else _shaped(made, shape)


def _places(
    indices: Sequence[Node | None], shape: Sequence[int]
) -> tuple[int, int, list[int], list[int]] | None:
    """The dimensions that constant indices are for, from the first to before the last; the form of
    the elements that they name; and where those are in the dimensions as one.
    """
    given = [position for position, index in enumerate(indices) if index is not None]
    first, last = given[0], given[-1] + 1
    values = [value_of(index) for index in indices[first:last]]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if any(value.dtype == torch.bool for value in known):
        if len(known) > 1:
            return None
        last = first + known[0].ndim
        known = list(known[0].nonzero(as_tuple=True))
    named: Sequence[Tensor] = torch.broadcast_tensors(*known)  # type: ignore[no-untyped-call]
    places = torch.zeros(named[0].shape, dtype=torch.int64)
    for index, size in zip(named, shape[first:last], strict=True):
        places = places * size + index % size
    return first, last, list(places.shape), places.flatten().tolist()


def _shaped(source: Any, shape: list[int]) -> Any:
    return source if list(source.shape) == shape else source.reshape(shape)


def _replaced(source: Any, values: Any, dim: int, places: Sequence[int]) -> Any:
    """The source with values at places along a dimension, the later ones if some are equal."""
    if source.dtype != values.dtype:
        return None
    size, count = source.shape[dim], len(places)
    if not count:
        return source
    if list(places) == list(range(places[0], places[0] + count)):
        return _between(source, values, dim, places[0])
    order = torch.arange(size)
    for number, place in enumerate(places):
        order[place] = size + number
    return torch.cat([source, values], dim).index_select(dim, order)


def _between(source: Any, values: Any, dim: int, start: int) -> Any:
    """In place of as many elements from `start` on."""
    sides = [(0, start), (start + values.shape[dim], source.shape[dim])]
    left, right = ([source.slice(dim, *side)] if side[0] < side[1] else [] for side in sides)
    parts = [*left, values, *right]
    return torch.cat(parts, dim) if len(parts) > 1 else values


def _added(self: Any, dim: int, index: Any, source: Any, alpha: float) -> Any:
    places = value_of(index.node)
    if places is None or places.ndim != 1:
        return None
    return grown(self, source if alpha == 1 else source * alpha, dim, places.tolist())


def grown(source: Any, values: Any, dim: int, places: Sequence[int]) -> Any:
    """The source with values added at places along a dimension, by a product with a matrix."""
    shape = list(source.shape)
    dim, count = dim % len(shape), len(places)
    if shape[dim] * count > MOST_PLACES or not count:
        return None
    matrix = torch.zeros(shape[dim], count)
    matrix[torch.tensor(places) % shape[dim], torch.arange(count)] = 1
    before, after = prod(shape[:dim]), prod(shape[dim + 1 :])
    rows = _shaped(values, [before, count, after]).transpose(1, 2)
    summed = torch.nn.functional.linear(rows, matrix)
    total = _shaped(summed.transpose(1, 2), shape)
    initial = value_of(source.node)
    return total if initial is not None and not initial.any() else source + total


_RULES: dict[Any, Rule] = {
    _ATEN.copy.default: _copied,
    _ATEN.fill.Scalar: _uniform,
    _ATEN.fill.Tensor: _uniform,
    _ATEN.zero.default: lambda self, out: _uniform(self, 0.0, out),
    _ATEN.select_scatter.default: _row,
    _ATEN.slice_scatter.default: _slice,
    _ATEN.index_copy.default: _rows,
    _ATEN.index_fill.int_Scalar: _filled,
    _ATEN.index_fill.int_Tensor: _filled,
    _ATEN.index_put.default: _put,
    _ATEN.index_add.default: _added,
}

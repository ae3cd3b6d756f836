"""Elements assigned by constant indices, `x[:, 0] = y`, as tensors that are joined and picked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

aten = torch.ops.aten

_Given = dict[str, Any]

MOST_PLACES = 1 << 14
"""Numbers of the matrix that adds up elements."""


def join_assignments(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        spell = _SPELLINGS.get(node.target)
        if spell is None or fake(node).dtype != torch.float32:
            continue
        made = spell(node, named_arguments(node))
        if made is not None:
            replace(node, made)


def _copied(node: Node, given: _Given) -> Node | None:
    source, shape = given["src"], list(fake(node).shape)
    if fake(source).dtype != fake(node).dtype:
        return None
    is_whole = list(fake(source).shape) == shape
    return source if is_whole else insert(node, aten.expand.default, source, shape)


def _uniform(node: Node, given: _Given) -> Node:
    """A number as a tensor, so that it takes part in the range and is rounded as others there."""
    value, shape = given.get("value", 0.0), list(fake(node).shape)
    number = number_of(value)
    if number is not None:
        value = constant(node, f"{node.name}_number", torch.full([1] * len(shape), float(number)))
    elif fake(value).dtype != fake(node).dtype:
        value = insert(node, aten.to.dtype, value, fake(node).dtype)
    is_whole = list(fake(value).shape) == shape
    return value if is_whole else insert(node, aten.expand.default, value, shape)


def _row(node: Node, given: _Given) -> Node | None:
    source, dim = given["self"], given["dim"]
    place = given["index"] % fake(source).shape[dim]
    row = insert(node, aten.unsqueeze.default, given["src"], dim % fake(source).ndim)
    return _replaced(node, source, row, dim, range(place, place + 1))


def _slice(node: Node, given: _Given) -> Node | None:
    source, dim = given["self"], given["dim"]
    size = fake(source).shape[dim]
    places = range(size)[given["start"] : given["end"] : given["step"]]
    return _replaced(node, source, given["src"], dim, places)


def _rows(node: Node, given: _Given) -> Node | None:
    places = value_of(given["index"])
    if places is None or places.ndim != 1:
        return None
    return _replaced(node, given["self"], given["source"], given["dim"], places.tolist())


def _filled(node: Node, given: _Given) -> Node | None:
    source, places, number = given["self"], value_of(given["index"]), number_of(given["value"])
    if places is None or number is None:
        return None
    chosen = torch.zeros(fake(source).shape[given["dim"]], dtype=torch.bool)
    chosen[places] = True
    shape = [1] * fake(source).ndim
    shape[given["dim"]] = -1
    mask = constant(node, f"{node.name}_mask", chosen.reshape(shape))
    return insert(node, aten.masked_fill.Scalar, source, mask, number)


def _put(node: Node, given: _Given) -> Node | None:
    """Replaces or grows elements at places of one or more dimensions next to each other."""
    source, indices = given["self"], given["indices"]
    shape = list(fake(source).shape)
    written = _places(indices, shape)
    if written is None:
        return None
    first, last, form, places = written
    before, after = shape[:first], shape[last:]
    spread = [*before, *form, *after]
    values = given["values"]
    if list(fake(values).shape) != spread:
        values = insert(node, aten.expand.default, values, spread)
    values = _shaped(node, values, [*before, len(places), *after])
    flat = _shaped(node, source, [*before, prod(shape[first:last]), *after])
    change = grown if given["accumulate"] else _replaced
    made = change(node, flat, values, first, places)
    return None if made is None else _shaped(node, made, shape)


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


def _shaped(node: Node, source: Node, shape: list[int]) -> Node:
    if list(fake(source).shape) == shape:
        return source
    return insert(node, aten.reshape.default, source, shape)


def _replaced(
    node: Node, source: Node, values: Node, dim: int, places: Sequence[int]
) -> Node | None:
    """The source with values at places along a dimension, the later ones if some are equal."""
    if fake(source).dtype != fake(values).dtype:
        return None
    size, count = fake(source).shape[dim], len(places)
    if not count:
        return source
    if list(places) == list(range(places[0], places[0] + count)):
        return _between(node, source, values, dim, places[0])
    order = torch.arange(size)
    for number, place in enumerate(places):
        order[place] = size + number
    joined = insert(node, aten.cat.default, [source, values], dim)
    return _picked(node, joined, dim, order)


def _between(node: Node, source: Node, values: Node, dim: int, start: int) -> Node:
    """In place of as many elements from `start` on."""
    sides = [(0, start), (start + fake(values).shape[dim], fake(source).shape[dim])]
    left, right = (
        [insert(node, aten.slice.Tensor, source, dim, *side)] if side[0] < side[1] else []
        for side in sides
    )
    parts = [*left, values, *right]
    return insert(node, aten.cat.default, parts, dim) if len(parts) > 1 else values


def _picked(node: Node, source: Node, dim: int, places: Tensor) -> Node:
    held = constant(node, f"{node.name}_places", places)
    return insert(node, aten.index_select.default, source, dim, held)


def _added(node: Node, given: _Given) -> Node | None:
    places, values = value_of(given["index"]), given["source"]
    if places is None or places.ndim != 1:
        return None
    if given["alpha"] != 1:
        values = insert(node, aten.mul.Tensor, values, given["alpha"])
    return grown(node, given["self"], values, given["dim"], places.tolist())


def grown(node: Node, source: Node, values: Node, dim: int, places: Sequence[int]) -> Node | None:
    """The source with values added at places along a dimension, by a product with a matrix."""
    shape = list(fake(source).shape)
    dim, count = dim % len(shape), len(places)
    if shape[dim] * count > MOST_PLACES or not count:
        return None
    matrix = torch.zeros(shape[dim], count)
    matrix[torch.tensor(places) % shape[dim], torch.arange(count)] = 1
    before, after = prod(shape[:dim]), prod(shape[dim + 1 :])
    columns = _shaped(node, values, [before, count, after])
    rows = insert(node, aten.transpose.int, columns, 1, 2)
    weight = constant(node, f"{node.name}_places", matrix)
    summed = insert(node, aten.linear.default, rows, weight)
    total = _shaped(node, insert(node, aten.transpose.int, summed, 1, 2), shape)
    initial = value_of(source)
    if initial is not None and not initial.any():
        return total
    return insert(node, aten.add.Tensor, source, total)


_SPELLINGS: dict[Any, Callable[[Node, _Given], Node | None]] = {
    aten.copy.default: _copied,
    aten.fill.Scalar: _uniform,
    aten.fill.Tensor: _uniform,
    aten.zero.default: _uniform,
    aten.select_scatter.default: _row,
    aten.slice_scatter.default: _slice,
    aten.index_copy.default: _rows,
    aten.index_fill.int_Scalar: _filled,
    aten.index_fill.int_Tensor: _filled,
    aten.index_put.default: _put,
    aten.index_add.default: _added,
}

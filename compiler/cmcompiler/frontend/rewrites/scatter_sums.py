"""Sums of elements by an index, scatter_add and index_add, as products with columns of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.assignments import grown
from cmcompiler.frontend.rewrites.constants import uniform, value_of
from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace
from cmcompiler.frontend.rewrites.traced import held, written

_ATEN = torch.ops.aten

MOST_PLACES = 256
"""Results for which each has a row of its own among the constants."""

MOST_CHOICES = 1 << 16
"""Numbers of the matrices that choose the elements of each result."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """Elements that are added along a dimension, all of a row to one place.

    Attributes:
        places: the place of each row, [count], or [..., count] if they differ before the dimension.
    """

    start: Node
    source: Node
    places: Node
    dim: int


def multiply_by_places(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        read = _READERS.get(node.target)
        if read is None or fake(node).dtype != torch.float32 or not fake(node).numel():
            continue
        sums = read(node, named_arguments(node)) if fake(node).ndim else None
        if sums is not None and _is_small(node, sums):
            replace(node, _product(node, sums))


def _indexed(node: Node, given: dict[str, Any]) -> _Sums | None:
    """Reads index_add."""
    source = given["source"]
    if fake(given["index"]).ndim != 1 or fake(source).dtype != torch.float32:
        return None
    if given["alpha"] != 1:
        source = insert(node, _ATEN.mul.Tensor, source, given["alpha"])
    return _Sums(given["self"], source, given["index"], given["dim"] % fake(node).ndim)


def _scattered(node: Node, given: dict[str, Any]) -> _Sums | None:
    """Reads scatter_add whose index is the same in all elements of a row."""
    places, source, rank = given["index"], given["src"], fake(node).ndim
    dim, shape, sizes = given["dim"] % rank, list(fake(node).shape), list(fake(places).shape)
    shape[dim] = sizes[dim]
    if sizes != shape or not all(_repeats(places, axis) for axis in range(dim + 1, rank)):
        return None
    same = all(_repeats(places, axis) for axis in range(dim))
    for axis in range(rank):
        if fake(source).shape[axis] != sizes[axis]:
            source = insert(node, _ATEN.slice.Tensor, source, axis, 0, sizes[axis])
    for axis in reversed(range(rank)):
        if axis > dim or (same and axis < dim):
            places = insert(node, _ATEN.select.int, places, axis, 0)
    return _Sums(given["self"], source, places, dim)


_READERS = {_ATEN.scatter_add.default: _scattered, _ATEN.index_add.default: _indexed}


def _is_small(node: Node, sums: _Sums) -> bool:
    size, numbers = fake(node).shape[sums.dim], fake(sums.places).numel()
    return bool(size <= MOST_PLACES and 0 < numbers * size <= MOST_CHOICES)


def _product(node: Node, sums: _Sums) -> Node:
    shape, dim = list(fake(node).shape), sums.dim
    known = value_of(sums.places)
    if known is not None and known.ndim == 1:
        places = known.tolist()
        made: Node | None = written(
            node, lambda start, source: grown(start, source, dim, places), sums.start, sums.source
        )
        if made is not None:
            return made
    *batch, count = fake(sums.places).shape
    is_zero = uniform(sums.start) == 0

    def product(places: Any, source: Any, start: Any) -> Any:
        each = held(places, torch.eye(shape[dim]))
        rows = torch.embedding(each, places.reshape([prod(batch), count])).transpose(1, 2)
        values = source.reshape([prod(shape[:dim]), count, prod(shape[dim + 1 :])])
        total = (rows @ values).reshape(shape)
        return total if is_zero else start + total

    total: Node = written(node, product, sums.places, sums.source, sums.start)
    return total


def _repeats(node: Node, dim: int) -> bool:
    """Whether a tensor is the same all along a dimension."""
    if fake(node).shape[dim] == 1 or fake(node).stride()[dim] == 0:
        return True
    known = value_of(node)
    return known is not None and torch.equal(known, known.narrow(dim, 0, 1).expand_as(known))

"""Movements of elements by the operators that the quantizer knows."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    named_arguments,
    replace,
)

aten = torch.ops.aten

DIAGONALS = (aten.diagonal.default, aten.diagonal_copy.default)


def spell_movements(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is aten.roll.default:
            replace(node, _rolled(node))
        elif node.target is aten.channel_shuffle.default:
            replace(node, _shuffled(node))
        elif node.target is aten._upsample_nearest_exact2d.vec:
            replace(node, _picked(node))
        elif node.target is aten.repeat_interleave.self_int:
            replace(node, _repeated(node))
        elif node.target in DIAGONALS and fake(node).numel():
            replace(node, _diagonal(node))


def _rolled(node: Node) -> Node:
    given = named_arguments(node)
    source = given["self"]
    if not given["dims"]:
        flat = insert(node, aten.reshape.default, source, [-1])
        moved = _rolled(insert(node, aten.roll.default, flat, given["shifts"], [0]))
        return insert(node, aten.reshape.default, moved, list(fake(source).shape))
    for shift, dim in zip(given["shifts"], given["dims"], strict=True):
        size = fake(source).shape[dim]
        first = -shift % size if size else 0
        if first:
            parts = [
                insert(node, aten.slice.Tensor, source, dim, first, size),
                insert(node, aten.slice.Tensor, source, dim, 0, first),
            ]
            source = insert(node, aten.cat.default, parts, dim)
    return source if source is not given["self"] else insert(node, aten.clone.default, source)


def _shuffled(node: Node) -> Node:
    given = named_arguments(node)
    batch, channels, *rest = fake(given["self"]).shape
    shape = [batch, given["groups"], channels // given["groups"], *rest]
    split = insert(node, aten.reshape.default, given["self"], shape)
    swapped = insert(node, aten.transpose.int, split, 1, 2)
    return insert(node, aten.reshape.default, swapped, [batch, channels, *rest])


def _repeated(node: Node) -> Node:
    """Each element several times in a row: a new dimension of so many, joined with its own."""
    given = named_arguments(node)
    source, dim, size = given["self"], given["dim"], list(fake(node).shape)
    if dim is None:
        source, dim = insert(node, aten.reshape.default, source, [-1]), 0
    dim %= len(size)
    each = insert(node, aten.unsqueeze.default, source, dim + 1)
    wide = [*fake(source).shape[: dim + 1], given["repeats"], *size[dim + 1 :]]
    repeated = insert(node, aten.expand.default, each, wide)
    return insert(node, aten.reshape.default, repeated, size)


def _picked(node: Node) -> Node:
    """Rows and columns by their indices, which torch computes."""
    given = named_arguments(node)
    source: Node = given["input"]
    factors = given["scale_factors"]
    for axis, size in enumerate(fake(source).shape[2:]):
        line = torch.arange(size, dtype=torch.float32)
        line = line.reshape(1, 1, size, 1) if axis == 0 else line.reshape(1, 1, 1, size)
        sizes, scales = [1, 1], None
        sizes[axis] = fake(node).shape[2 + axis]
        if factors is not None:
            scales = [1.0, 1.0]
            scales[axis] = factors[axis]
        nearest = aten._upsample_nearest_exact2d.vec(line, None if scales else sizes, scales)
        places = constant(node, f"{node.name}_places", nearest.flatten().long())
        source = insert(node, aten.index_select.default, source, 2 + axis, places)
    return source


def _diagonal(node: Node) -> Node:
    """Elements at equal distances in the two dimensions as one."""
    given = named_arguments(node)
    source, offset = given["self"], given["offset"]
    rank = fake(source).ndim
    pair = [given[name] % rank for name in ("dim1", "dim2")]
    order = [dim for dim in range(rank) if dim not in pair] + pair
    if order != list(range(rank)):
        source = insert(node, aten.permute.default, source, order)
    *others, rows, columns = fake(source).shape
    flat = insert(node, aten.reshape.default, source, [*others, rows * columns])
    first = offset if offset >= 0 else -offset * columns
    last = first + (fake(node).shape[-1] - 1) * (columns + 1)
    return insert(node, aten.slice.Tensor, flat, rank - 2, first, last + 1, columns + 1)

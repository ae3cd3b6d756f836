"""Images and volumes resized, or sampled at constant places, by constant weights."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

aten = torch.ops.aten

RESIZES = {
    aten.upsample_bicubic2d.vec,
    aten._upsample_bicubic2d_aa.vec,
    aten._upsample_bilinear2d_aa.vec,
    aten.upsample_trilinear3d.vec,
}
"""Without kernels of their own; each dimension is resized by itself."""

BILINEAR, NEAREST = 0, 1
ZEROS, BORDER = 0, 1


def weigh_samples(module: GraphModule) -> None:
    """Replaces both by products with constants."""
    for node in list(module.graph.nodes):
        if node.target in RESIZES:
            replace(node, _resized(node))
        elif node.target is aten.grid_sampler.default:
            made = _sampled(node)
            if made is not None:
                replace(node, made)


def _resized(node: Node) -> Node:
    given = named_arguments(node)
    source: Node = given["input"]
    before, after = fake(source).shape, fake(node).shape
    rank = len(before)
    for dim in reversed(range(2, rank)):
        if before[dim] == after[dim]:
            factors = given["scale_factors"]
            if factors is None or factors[dim - 2] == 1:
                continue
        held = constant(node, f"{node.name}_weights", _weights(node, given, dim))
        order = [*(each for each in range(rank) if each != dim), dim]
        lines = insert(node, aten.permute.default, source, order)
        weighted = insert(node, aten.linear.default, lines, held)
        back = [order.index(each) for each in range(rank)]
        source = insert(node, aten.permute.default, weighted, back)
    return source


def _weights(node: Node, given: dict[str, Any], dim: int) -> Tensor:
    """[after, before] of a dimension: what the operator makes of unit vectors in rows."""
    size, length = fake(given["input"]).shape[dim], fake(node).shape[dim]
    others = [1] * (fake(node).ndim - 3)
    given_factors = given["scale_factors"]
    factors = None if given_factors is None else [*map(float, others), given_factors[dim - 2]]
    sizes = [*others, length] if factors is None else None
    assert callable(node.target)
    lines = torch.eye(size).reshape(size, 1, *others, size)
    found: Tensor = node.target(lines, sizes, given["align_corners"], factors)
    return found.reshape(size, length).T.contiguous()


def _sampled(node: Node) -> Node | None:
    """The elements beside each place, picked and weighed."""
    given = named_arguments(node)
    source: Node = given["input"]
    grid, mode, margin = value_of(given["grid"]), given["interpolation_mode"], given["padding_mode"]
    if grid is None or mode not in (BILINEAR, NEAREST) or margin not in (ZEROS, BORDER):
        return None
    if fake(source).ndim != 4 or fake(source).shape[0] != 1:
        return None
    _, channels, *sizes = fake(source).shape
    flat = insert(node, aten.reshape.default, source, [1, channels, prod(sizes)])
    terms = []
    for places, weights in _taps(grid[0].double(), sizes, given):
        held = constant(node, f"{node.name}_places", places.flatten())
        picked = insert(node, aten.index_select.default, flat, 2, held)
        factors = constant(node, f"{node.name}_weights", weights.flatten().float())
        terms.append(insert(node, aten.mul.Tensor, picked, factors))
    total = terms[0]
    for term in terms[1:]:
        total = insert(node, aten.add.Tensor, total, term)
    return insert(node, aten.reshape.default, total, list(fake(node).shape))


def _taps(grid: Tensor, sizes: list[int], given: dict[str, Any]) -> list[tuple[Tensor, Tensor]]:
    """Places in a flat image, and weights, of what is added up; as grid_sample defines them.

    Args:
        grid: [rows, columns, 2], x before y, from -1 to 1.
    """
    axes = []
    for coordinate, size in zip(grid.flip(-1).unbind(-1), sizes, strict=True):
        place = (coordinate + 1) / 2
        place = place * (size - 1) if given["align_corners"] else place * size - 0.5
        if given["padding_mode"] == BORDER:
            place = place.clamp(0, size - 1)
        if given["interpolation_mode"] == NEAREST:
            options = [(place.round(), torch.ones_like(place))]
        else:
            low, share = place.floor(), place - place.floor()
            options = [(low, 1 - share), (low + 1, share)]
        axes.append(
            [
                (index.clamp(0, size - 1).long(), weight * ((index >= 0) & (index < size)))
                for index, weight in options
            ]
        )
    rows, columns = axes
    return [
        (row * sizes[1] + column, high * wide) for row, high in rows for column, wide in columns
    ]

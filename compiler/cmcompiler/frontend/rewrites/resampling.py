"""Images and volumes resized by constant weights, or sampled at places of a grid."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.operators.grid import (
    BILINEAR,
    BORDER,
    NEAREST,
    ZEROS,
    grid_places,
    grid_weights,
)
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


def weigh_samples(module: GraphModule) -> None:
    """Replaces both by products, of what is picked with its weights."""
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
    resampled: Tensor = node.target(lines, sizes, given["align_corners"], factors)
    return resampled.reshape(size, length).T.contiguous()


def _sampled(node: Node) -> Node | None:
    """The elements beside each place, picked, weighed and added up."""
    given = named_arguments(node)
    source, grid = given["input"], given["grid"]
    mode, margin = given["interpolation_mode"], given["padding_mode"]
    if mode not in (BILINEAR, NEAREST) or margin not in (ZEROS, BORDER):
        return None
    if fake(source).ndim != 4:
        return None
    batch, channels, *sizes = fake(source).shape
    flat = insert(node, aten.reshape.default, source, [batch, channels, prod(sizes)])
    how = (sizes, mode, margin, given["align_corners"])
    results = []
    for number in range(batch):
        image = insert(node, aten.slice.Tensor, flat, 0, number, number + 1)
        places, weights = _taps(node, grid, number, *how)
        taps, count = fake(weights).shape
        picked = insert(
            node,
            aten.index_select.default,
            image if batch > 1 else flat,
            2,
            insert(node, aten.reshape.default, places, [taps * count]),
        )
        parts = insert(node, aten.reshape.default, picked, [1, channels, taps, count])
        factors = insert(node, aten.reshape.default, weights, [1, 1, taps, count])
        weighed = insert(node, aten.mul.Tensor, parts, factors)
        results.append(insert(node, aten.sum.dim_IntList, weighed, [2]))
    total = insert(node, aten.cat.default, results) if batch > 1 else results[0]
    return insert(node, aten.reshape.default, total, list(fake(node).shape))


def _taps(node: Node, grid: Node, *how: Any) -> tuple[Node, Node]:
    """Places in a flat image, and weights, each [taps, places of the grid]."""
    value = value_of(grid)
    if value is None:
        own = torch.ops.cmbuild
        places = insert(node, own.grid_places.default, grid, *how)
        return places, insert(node, own.grid_weights.default, grid, *how)
    made = (grid_places(value.double(), *how), grid_weights(value.double(), *how).float())
    return (
        constant(node, f"{node.name}_places", made[0]),
        constant(node, f"{node.name}_weights", made[1]),
    )

"""Images and volumes resized by constant weights, or sampled at places of a grid."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.frontend.operators.grid import (
    BILINEAR,
    BORDER,
    NEAREST,
    ZEROS,
    grid_places,
    grid_weights,
)
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.traced import Rule, apply_rules, held

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
    apply_rules(module, _RULES)


def _resize(operator: Any) -> Rule:
    def rule(input: Any, align_corners: bool, scale_factors: Any, out: Any) -> Any:
        rank = input.ndim
        for dim in reversed(range(2, rank)):
            size, length = input.shape[dim], out.shape[dim]
            factor = None if scale_factors is None else scale_factors[dim - 2]
            if size == length and factor in (None, 1):
                continue
            weights = _weights(
                operator, align_corners, rest=rank - 3, size=size, length=length, factor=factor
            )
            order = [*(each for each in range(rank) if each != dim), dim]
            back = [order.index(each) for each in range(rank)]
            lines = torch.nn.functional.linear(input.permute(order), weights)
            input = lines.permute(back)
        return input

    return rule


def _weights(
    operator: Any, align_corners: bool, *, rest: int, size: int, length: int, factor: float | None
) -> Tensor:
    """[after, before] of a dimension: what the operator makes of unit vectors in rows.

    Args:
        rest: other dimensions of an image.
        factor: of the dimension; None for none.
    """
    others = [1] * rest
    factors = None if factor is None else [*map(float, others), factor]
    sizes = [*others, length] if factors is None else None
    lines = torch.eye(size).reshape(size, 1, *others, size)
    resampled: Tensor = operator(lines, sizes, align_corners, factors)
    return resampled.reshape(size, length).T.contiguous()


def _sampled(
    input: Any,
    grid: Any,
    *,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    out: Any,
) -> Any:
    """The elements beside each place, picked, weighed and added up."""
    if interpolation_mode not in (BILINEAR, NEAREST) or padding_mode not in (ZEROS, BORDER):
        return None
    if input.ndim != 4:
        return None
    batch, channels, *sizes = input.shape
    flat = input.reshape([batch, channels, prod(sizes)])
    results = []
    for number in range(batch):
        image = flat.narrow(0, number, 1) if batch > 1 else flat
        how = sizes, interpolation_mode, padding_mode, align_corners
        places, weights = _taps(grid, number, *how)
        taps, count = weights.shape
        picked = image.index_select(2, places.reshape([taps * count]))
        parts = picked.reshape([1, channels, taps, count])
        results.append((parts * weights.reshape([1, 1, taps, count])).sum([2]))
    total = torch.cat(results) if batch > 1 else results[0]
    return total.reshape(list(out.shape))


def _taps(grid: Any, *how: Any) -> tuple[Any, Any]:
    """Places in a flat image, and weights, each [taps, places of the grid]."""
    value = value_of(grid.node)
    if value is None:
        own = torch.ops.cmbuild
        return own.grid_places.default(grid, *how), own.grid_weights.default(grid, *how)
    exact = value.double()
    weights = grid_weights(exact, *how).float()
    return held(grid, grid_places(exact, *how)), held(grid, weights)


_RULES = {
    **{operator: _resize(operator) for operator in RESIZES},
    aten.grid_sampler.default: _sampled,
}

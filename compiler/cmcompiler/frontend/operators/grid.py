"""cmbuild::grid_places and cmbuild::grid_weights for torch: what grid_sample picks and weighs.

Both are computed in float, from other operators: positions in an image take more than 8 bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

BILINEAR, NEAREST = 0, 1
ZEROS, BORDER = 0, 1

_ARGUMENTS = "Tensor grid, int number, int[] sizes, int mode, int margin, bool align_corners"

LIBRARY.define(f"grid_places({_ARGUMENTS}) -> Tensor")
LIBRARY.define(f"grid_weights({_ARGUMENTS}) -> Tensor")


def grid_places(grid: Tensor, number: int, *how: Any) -> Tensor:
    """Places in a flat image of the batch: [taps, places of the grid], int64."""
    return torch.stack([place for place, _ in _taps(grid[number], *how)])


def grid_weights(grid: Tensor, number: int, *how: Any) -> Tensor:
    """Weights of what is picked there and added up; 0 outside of the image."""
    return torch.stack([weight for _, weight in _taps(grid[number], *how)])


LIBRARY.impl("grid_places", grid_places, "CompositeImplicitAutograd")
LIBRARY.impl("grid_weights", grid_weights, "CompositeImplicitAutograd")

OPERATORS = {torch.ops.cmbuild.grid_places.default, torch.ops.cmbuild.grid_weights.default}


def is_grid(node: Node) -> bool:
    """Whether an input is only read as positions in an image, which take more than 8 bits."""
    readers = {user.target for user in node.users}
    return bool(readers) and readers <= OPERATORS


def _taps(
    grid: Tensor, sizes: list[int], mode: int, margin: int, align_corners: bool
) -> list[tuple[Tensor, Tensor]]:
    """As grid_sample defines them.

    Args:
        grid: [rows, columns, 2], x before y, from -1 to 1.
        sizes: height and width of the image.
    """
    axes = []
    for axis, size in zip((1, 0), sizes, strict=True):
        coordinate = grid[:, :, axis].reshape(-1)
        if align_corners:
            place = (coordinate + 1) * ((size - 1) / 2)
        else:
            place = (coordinate + 1) * (size / 2) - 0.5
        if margin == BORDER:
            place = place.clamp(0, size - 1)
        if mode == NEAREST:
            options = [(place.round(), torch.ones_like(place))]
        else:
            low = place.floor()
            share = place - low
            options = [(low, 1 - share), (low + 1, share)]
        axes.append([_within(index, weight, size) for index, weight in options])
    rows, columns = axes
    return [
        (row * sizes[1] + column, high * wide) for row, high in rows for column, wide in columns
    ]


def _within(index: Tensor, weight: Tensor, size: int) -> tuple[Tensor, Tensor]:
    inside = (index >= 0) & (index <= size - 1)
    return index.clamp(0, size - 1).long(), torch.where(inside, weight, 0.0)

"""Rounds rows of weights so that later columns make up for what earlier ones lose.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from cmcompiler.frontend.narrow_observers import CLIPPED, LEAST_STEP, least_changed
from cmcompiler.frontend.weight_steps import LEVELS
from cmcompiler.ops.support.nibbles import LARGEST

_DAMPING = 0.01
"""The share of the inputs' mean power that each column gets besides its own."""

_BLOCK = 32
"""Columns whose losses reach those behind them together, which takes less time."""

_FEW = 128
"""Columns of rows for which steps are tried: errors of more differ less between steps."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers that weights of a row are rounded to: whole steps of it.

    Attributes:
        largest: the largest weight, in steps; what is beyond is clipped.
        tried: steps in the largest weight of a row. Later columns make up for what this one loses.
        told: steps that the largest rounded weight of each row must have, which tells its step.
    """

    largest: int
    tried: tuple[float, ...]
    told: int

    def steps(self, rows: Tensor) -> Iterator[Tensor]:
        """Steps of each row that are tried.

        Args:
            rows: [groups, rows, columns].
        """
        most = rows.abs().amax(2).clamp(min=LEAST_STEP)
        if rows.shape[2] <= _FEW:
            yield from (most / levels for levels in self.tried)
        elif self.told:
            flat = least_changed(rows.flatten(0, 1), most.flatten())
            yield flat.reshape(most.shape) / self.largest
        else:
            yield most / self.largest

    def held(self, weights: Tensor, steps: Tensor) -> Tensor:
        return (weights / steps).round().clamp(-self.largest, self.largest) * steps


BYTES = Grid(LEVELS, tuple(LEVELS + 0.5 - each / 2 for each in range(64)), 0)
NIBBLES = Grid(LARGEST, tuple(LARGEST / share for share in CLIPPED), LARGEST)


def power(products: Tensor) -> Tensor:
    """The mean power of the columns of each group, on a diagonal."""
    mean = products.diagonal(dim1=1, dim2=2).mean(1).clamp(min=1e-12)
    return mean[:, None, None] * torch.eye(products.shape[1], dtype=products.dtype)


def rounded_rows(rows: Tensor, wanted: Tensor, products: Tensor, grid: Grid) -> Tensor:
    """Weights in steps of their rows, whose sums are near the wanted ones.

    Args:
        rows: [groups, rows, columns].
        products: of the inputs of each pair of columns, summed over all outputs.
    """
    order = products.diagonal(dim1=1, dim2=2).sum(0).argsort(descending=True)
    rows, wanted, products = rows[..., order], wanted[..., order], products[:, order][..., order]
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(products + _DAMPING * power(products)))
    shares = torch.linalg.cholesky(inverse, upper=True)
    tried = list(grid.steps(rows))
    best = grid.held(rows, tried[0][..., None])
    least = torch.full_like(tried[0], torch.inf)
    for steps in tried:
        made, error = _in_steps(wanted, steps, shares, grid)
        is_told = made.abs().amax(2) > (grid.told - 0.5) * steps
        is_better = is_told & (error < least)
        best = torch.where(is_better[..., None], made, best)
        least = torch.where(is_better, error, least)
    return best[..., order.argsort()]


def _in_steps(wanted: Tensor, steps: Tensor, shares: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
    """Weights in steps of their rows, and what the sums of each row lose.

    Args:
        shares: of a column's error that later ones make up for.
    """
    left, columns = wanted.clone(), wanted.shape[2]
    made, lost = torch.empty_like(left), torch.empty_like(left)
    for first in range(0, columns, _BLOCK):
        end = min(first + _BLOCK, columns)
        for column in range(first, end):
            held = grid.held(left[..., column], steps)
            made[..., column] = held
            lost[..., column] = (left[..., column] - held) / shares[:, column, column, None]
            rest = slice(column + 1, end)
            left[..., rest] -= lost[..., column, None] * shares[:, None, column, rest]
        left[..., end:] -= lost[..., first:end] @ shares[:, first:end, end:]
    return made, lost.square().sum(2)

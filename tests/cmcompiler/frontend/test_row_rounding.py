"""Rows of weights whose later columns make up for what earlier ones lose."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cmcompiler.frontend.narrow_observers import holds_nibbles, is_large
from cmcompiler.frontend.row_rounding import BYTES, NIBBLES, Grid, rounded_rows
from cmcompiler.frontend.weight_steps import stored_steps


def random(*shape: int, seed: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("grid", [BYTES, NIBBLES])
@pytest.mark.parametrize("columns", [9, 64, 160])
def test_sums_keep_more_than_with_each_weight_rounded_alone(columns: int, grid: Grid) -> None:
    inputs = random(400, 8) @ random(8, columns, seed=6) + 0.1 * random(400, columns, seed=7)
    rows = random(2, 10, columns, seed=8)
    products = (inputs[:200].T @ inputs[:200]).expand(2, -1, -1)
    made = rounded_rows(rows, rows.clone(), products, grid)
    steps = rows.abs().amax(2, keepdim=True) / grid.largest
    alone = (rows / steps).round() * steps
    judged = inputs[200:].T
    lost = [((each - rows) @ judged).square().sum() for each in (made, alone)]
    assert lost[0] < lost[1] / 3
    flat = made.float().double().flatten(0, 1)
    stored = flat / stored_steps(flat)[:, None]
    assert torch.allclose(stored, stored.round(), atol=1e-4)
    assert grid is BYTES or not is_large(flat) or stored.abs().max() < 7.5


def test_few_columns_that_have_nothing_in_common_get_a_step_that_suits_them() -> None:
    rows = random(30, 1, 9, seed=8)
    made = rounded_rows(rows, rows.clone(), torch.eye(9).double().expand(30, -1, -1), BYTES)
    steps = rows.abs().amax(2, keepdim=True) / 127
    alone = (rows / steps).round() * steps
    assert (made - rows).square().sum() < (alone - rows).square().sum() / 2


def test_rows_that_shrink_still_tell_their_steps() -> None:
    """Where no step leaves seven of them in the largest weight, each weight is rounded alone."""
    rows = random(1, 8, 40, seed=9)
    products = torch.eye(40).double()[None]
    made = rounded_rows(rows, rows / 3, products, NIBBLES)[0]
    assert holds_nibbles(made)

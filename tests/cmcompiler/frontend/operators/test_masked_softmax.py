"""Masks of softmax, and rows of which they leave nothing."""

from __future__ import annotations

import math

import pytest
import torch

from cmcompiler.frontend.operators.masked_softmax import ABSORBING, empty_rows, excluding
from cmcompiler.ops.support.empty_rows import EmptyRows


@pytest.mark.parametrize(
    ("number", "is_added", "rows"),
    [
        (-math.inf, False, EmptyRows.ZERO),
        (-math.inf, True, EmptyRows.ZERO),
        (-1e4, True, EmptyRows.UNMASKED),
        (-1e4, False, EmptyRows.EQUAL),
        (-2 * ABSORBING, True, EmptyRows.EQUAL),
    ],
)
def test_rows_without_elements_are_torchs(number: float, is_added: bool, rows: EmptyRows) -> None:
    assert empty_rows(number, is_added) is rows
    x, nothing = torch.tensor([[0.1, 0.3, 0.7]]), torch.zeros(1, 3, dtype=torch.bool)
    result = excluding(x, nothing, number, is_added).softmax(-1).nan_to_num(0.0)
    expected = {
        EmptyRows.ZERO: torch.zeros(1, 3),
        EmptyRows.EQUAL: torch.full((1, 3), 1 / 3),
        EmptyRows.UNMASKED: x.softmax(-1),
    }
    torch.testing.assert_close(result, expected[rows], atol=1e-3, rtol=1e-3)

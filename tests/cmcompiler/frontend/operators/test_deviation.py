"""Deviations in float, as torch has them."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.frontend.operators.deviation import deviation


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [[1], [2, 3], [0, 1, 2, 3]])
def test_variances_and_roots_are_torchs(dims: list[int], keepdim: bool) -> None:
    x = torch.rand(2, 3, 4, 5)
    count = x.numel() // x.mean(dims).numel()
    variance = x.var(dims, correction=1, keepdim=keepdim)
    made = deviation(x, dims, keepdim, float(count - 1), True, False)
    torch.testing.assert_close(made, variance)
    made = deviation(x, dims, keepdim, float(count - 1), True, True)
    torch.testing.assert_close(made, variance.sqrt())
    squares = deviation(x, dims, keepdim, 1.0, False, False)
    torch.testing.assert_close(squares, (x * x).sum(dims, keepdim))

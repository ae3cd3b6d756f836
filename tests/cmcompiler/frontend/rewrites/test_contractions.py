"""Sums of products with a repeated row as products of matrices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

from cmcompiler.frontend.rewrites.contractions import multiply_sums


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x[:, :1]).sum(-1),
        lambda x: (x[:, -1:] * x).sum(2, keepdim=True),
        lambda x: (x[None] * x[None, :, :1]).sum(-1),
    ],
)
def test_a_repeated_row_is_multiplied_by_matrices(function: Callable[[Tensor], Tensor]) -> None:
    names = targets(rewritten(Function(function), torch.randn(2, 5, 8), by=multiply_sums))
    assert "aten.matmul.default" in names
    assert "aten.mul.Tensor" not in names


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x).sum(-1),
        lambda x: (x * x[:, :, :1]).sum(-1),
        lambda x: (x * x[:, :1]).sum(1),
        lambda x: (x[:, :2] * x[:, :1]).sum(-1),
        lambda x: (x * x[:, :1]).sum((1, 2)),
    ],
)
def test_others_stay(function: Callable[[Tensor], Tensor]) -> None:
    names = targets(rewritten(Function(function), torch.randn(2, 5, 8), by=multiply_sums))
    assert "aten.matmul.default" not in names

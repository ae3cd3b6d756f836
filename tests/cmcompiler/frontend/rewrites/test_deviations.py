"""Variances, deviations and lengths become the compiler's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

X = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(1))

OWN: dict[str, Callable[[Tensor], Tensor]] = {
    "var": lambda x: x.var(),
    "biased var": lambda x: x.var(-1, unbiased=False, keepdim=True),
    "corrected var": lambda x: torch.var(x, (0, 2), correction=2),
    "std": lambda x: x.std(1),
    "std of all": lambda x: x.std(),
    "norm": lambda x: x.norm(dim=-1),
    "norm of all": lambda x: x.norm(),
    "vector norm": lambda x: torch.linalg.vector_norm(x, dim=(0, 1), keepdim=True),
}


@pytest.mark.parametrize("name", OWN)
def test_own(name: str) -> None:
    assert targets(rewritten(Function(OWN[name]), X)) == ["cmbuild.deviation.default"]


def test_other_lengths_stay() -> None:
    operators = targets(rewritten(Function(lambda x: x.norm(p=3, dim=-1)), X))
    assert operators == ["aten.linalg_vector_norm.default"]

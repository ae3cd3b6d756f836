"""Sums and means become the compiler's own, with the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

X = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.sum(),
        lambda x: x.sum(1),
        lambda x: x.sum((2, -4), keepdim=True),
        lambda x: x[0].mean((1, 2)),
        lambda x: x.mean(),
        lambda x: x.mean(-1, True),
    ],
)
def test_sums_and_means(compute: Callable[[Tensor], Tensor]) -> None:
    operators = targets(rewritten(Function(compute), X))
    assert operators[-1] in ("cmbuild.sum.default", "cmbuild.mean.default")


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_sums(dim: int) -> None:
    for x in (X, X.to(memory_format=torch.channels_last)):
        operators = targets(rewritten(Function(lambda x: x.cumsum(dim)), x))
        assert operators == ["cmbuild.cumsum.default"]


@pytest.mark.parametrize(
    "compute", [lambda x: x.mean((-1, -2)), lambda x: (x > 0).sum(1)], ids=["pool", "count"]
)
def test_others_stay(compute: Callable[[Tensor], Tensor]) -> None:
    assert not any(name.startswith("cmbuild.") for name in targets(rewritten(Function(compute), X)))

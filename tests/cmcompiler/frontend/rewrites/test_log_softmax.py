"""Logarithms of softmax become the compiler's own."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

X = torch.randn(2, 3, 5)


class LogSumExp(nn.Module):
    def __init__(self, *arguments: object) -> None:
        super().__init__()
        self.arguments = arguments

    def forward(self, x: Tensor) -> Tensor:
        return torch.logsumexp(x, *self.arguments)


def test_log_softmax() -> None:
    assert targets(rewritten(nn.LogSoftmax(-1), X)) == ["cmbuild.log_softmax.default"]
    moved = targets(rewritten(nn.LogSoftmax(1), X))
    assert moved.count("cmbuild.log_softmax.default") == 1
    assert set(moved) == {"cmbuild.log_softmax.default", "aten.permute.default"}


@pytest.mark.parametrize("arguments", [(1,), (-1, True), ((0, 2),), ((0, 1, 2), True)])
def test_logsumexp(arguments: tuple[object, ...]) -> None:
    assert targets(rewritten(LogSumExp(*arguments), X)) == ["cmbuild.logsumexp.default"]


class Weighted(nn.Module):
    def __init__(self, elements: int) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.arange(float(elements))[:, None])

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(-1).flatten(0, 1) @ self.values


@pytest.mark.parametrize("elements", [8, 32])
def test_wide_softmaxes_are_exponentials(elements: int) -> None:
    operators = targets(rewritten(Weighted(elements), torch.randn(1, 2, elements)))
    assert ("cmbuild.log_softmax.default" in operators) == (elements == 32)
    assert ("aten.softmax.int" in operators) == (elements == 8)


def test_softmaxes_that_are_results_stay() -> None:
    assert targets(rewritten(nn.Softmax(-1), torch.randn(1, 64))) == ["aten.softmax.int"]

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

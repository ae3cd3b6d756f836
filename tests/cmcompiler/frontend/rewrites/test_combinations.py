"""Steps that only weigh elements are one product."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

from cmcompiler.frontend.rewrites.combinations import multiply_combinations


def smoothed(x: Tensor, dim: int, at: int) -> Tensor:
    mean, means = x.select(dim, 0), []
    for place in range(x.shape[dim]):
        mean = (1 - 0.04) * mean + 0.04 * x.select(dim, place)
        means.append(mean)
    return torch.stack(means, at)


@pytest.mark.parametrize(("dim", "at"), [(-1, -1), (1, 1), (2, 0)])
def test_smoothing_is_a_layer(dim: int, at: int) -> None:
    function = Function(lambda x: smoothed(x, dim, at))
    names = targets(rewritten(function, torch.randn(2, 6, 7), by=multiply_combinations))
    assert names == ["aten.permute.default", "aten.linear.default", "aten.permute.default"]


def test_products_of_elements_stay() -> None:
    def multiplied(x: Tensor) -> Tensor:
        steps = [x[:, 0]]
        for place in range(1, 6):
            steps.append(steps[-1] * x[:, place] + 0.1 * x[:, place])
        return torch.stack(steps, 1)

    names = targets(rewritten(Function(multiplied), torch.randn(2, 6), by=multiply_combinations))
    assert "aten.linear.default" not in names

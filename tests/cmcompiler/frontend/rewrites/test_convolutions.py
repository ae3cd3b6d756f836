"""Convolutions of TorchScript by their own operators."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.convolutions import tell_convolutions_apart

torch.manual_seed(0)


@pytest.mark.parametrize(("rank", "plain"), [(1, "conv1d"), (2, "conv2d"), (3, "conv3d")])
@pytest.mark.parametrize("transposed", [False, True])
def test_each_kind(rank: int, plain: str, transposed: bool) -> None:
    weight = torch.randn(4, 2, *[3] * rank)
    margin = [1] * rank

    def compute(x):
        sides = ([2] * rank, margin, [1] * rank)
        return torch.convolution(x, weight, None, *sides, transposed, [0] * rank, 2)

    x = torch.randn(1, 4, *[7] * rank)
    graph = rewritten(Function(compute), x, by=tell_convolutions_apart)
    name = plain.replace("conv", "conv_transpose") if transposed else plain
    assert [target.split(".")[1] for target in targets(graph)] == [name]

"""Masked tensors."""

from __future__ import annotations

import pytest
import torch
from harness.pte import operators
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.rewrites.masks import choose_for_masks
from cmcompiler.target import Target


class Masked(nn.Module):
    def __init__(self, value: float | Tensor) -> None:
        super().__init__()
        self.conv, self.value = nn.Conv2d(3, 4, 1), value
        self.register_buffer("mask", torch.rand(5, 5) > 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).masked_fill(self.mask, self.value)


@pytest.mark.parametrize("value", [0.0, torch.tensor(0.0)])
def test_zeros_are_chosen(value):
    example = (torch.randn(1, 3, 5, 5),)
    names = targets(rewritten(Masked(value), *example, by=choose_for_masks, tolerance=0))
    assert "aten.where.self" in names and not any("masked_fill" in name for name in names)
    quantized = quantize(Masked(value), example, [example])
    assert quantized.float_operators == ()
    assert operators(lower(quantized, Target.parse("cortex-m55")))["aten::where"] == 1


def test_other_numbers_stay():
    graph = rewritten(Masked(-1e9), torch.randn(1, 3, 5, 5), by=choose_for_masks, tolerance=0)
    assert targets(graph)[-1] == "aten.masked_fill.Scalar"


def test_integers_stay():
    class Counts(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.masked_fill(x > 3, 0)

    graph = rewritten(Counts(), torch.arange(6), by=choose_for_masks, tolerance=0)
    assert targets(graph)[-1] == "aten.masked_fill.Scalar"

"""Probabilities that 8 bits are too coarse for become int16; others stay."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.ops.short_masked_softmax import ShortMaskedSoftmax
from cmcompiler.ops.short_softmax import ShortSoftmax

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

SHORT = ShortSoftmax, ShortMaskedSoftmax


class Weighing(nn.Module):
    """The weights of attention with a mask, and what they weigh."""

    def __init__(self, scale: float, is_averaged: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.is_averaged = is_averaged
        with torch.no_grad():
            self.attention.in_proj_weight.mul_(scale)

    def forward(self, x: Tensor, padded: Tensor | None = None) -> Tensor:
        weights: Tensor = self.attention(
            x, x, x, key_padding_mask=padded, average_attn_weights=self.is_averaged
        )[1]
        return weights


class Products(nn.Module):
    """Scores of the user's own, whose weights are added up."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.keys = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.keys(x).transpose(1, 2) * 12).softmax(-1).mean(1)


def samples(keys: int, *counts: int) -> list[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    if not counts:
        return [(torch.randn(1, keys, 8),) for _ in range(4)]
    return [(torch.randn(1, keys, 8), torch.arange(keys)[None] >= count) for count in counts]


CASES = {
    "few and many": (Weighing(1.0, False), samples(40, 2, 3, 37, 40)),
    "averaged": (Weighing(1.0, True), samples(40, 2, 3, 37, 40)),
    "wide": (Weighing(2.0, True), samples(32)),
    "products": (Products(), samples(12)),
}


@pytest.mark.parametrize("name", CASES)
def test_16_bits_where_8_are_coarse(name: str) -> None:
    module, inputs = CASES[name]
    compiled = api.compile(module.eval(), inputs[0], inputs)
    assert any(isinstance(node.op, SHORT) for node in compiled.graph.nodes)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, inputs) > 30


def test_8_bits_where_they_are_fine() -> None:
    inputs = samples(8, 6, 7, 8, 8)
    compiled = api.compile(Weighing(1.0, True).eval(), inputs[0], inputs)
    assert not any(isinstance(node.op, SHORT) for node in compiled.graph.nodes)

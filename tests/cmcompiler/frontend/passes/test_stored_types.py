"""Operators that refuse operands of two types read layers with and without a bias."""

from __future__ import annotations

import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler import api


class Neighbours(nn.Module):
    """Attention to neighbours in a graph, of a layer without a bias."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer, self.score = nn.Linear(8, 12, bias=False), nn.Linear(12, 1)

    def forward(self, x: Tensor) -> Tensor:
        features = self.layer(x)
        scores = self.score(features)
        return (scores + scores.transpose(1, 2)).softmax(-1) @ features


def test_a_product_of_layers_with_and_without_a_bias() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 6, 8),) for _ in range(8)]
    module = Neighbours().eval()
    compiled = api.compile(module, samples[0], samples)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, samples) > 30


class Scattered(nn.Module):
    """A layer's results among those of a layer without a bias."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.few, self.many = nn.Linear(8, 4), nn.Linear(8, 12, bias=False)
        self.register_buffer("places", torch.tensor([[0, 3, 5, 9]]))

    def forward(self, x: Tensor) -> Tensor:
        return self.many(x).scatter(1, self.places, self.few(x))


def test_results_of_a_layer_among_those_of_one_without_a_bias() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 8),) for _ in range(8)]
    module = Scattered().eval()
    compiled = api.compile(module, samples[0], samples)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, samples) > 35

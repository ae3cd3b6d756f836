"""Logarithms of sums and of probabilities."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.sensitivity import snr


class Logarithms(nn.Module):
    """Of probabilities, most of which are less than half a step, and of sums from nothing on."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer = nn.Linear(16, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.layer(x)
        total = torch.full((1, 8), -math.inf).index_fill(1, torch.tensor([0]), 0.0)
        for step in range(2):
            total = torch.logaddexp(total, total.roll(1, 1)) + 0.1 * step
        logarithms = (scores * 8).softmax(-1).clamp(min=1e-7).log()
        return logarithms, (total + scores).clamp(min=-9)


def test_logarithms_keep_what_rounded_probabilities_lose() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 16),) for _ in range(8)]
    module = Logarithms().eval()
    compiled = api.compile(module, samples[0], samples)
    assert compiled.fidelity.faithful
    computed = zip(*api.reference(compiled, [(x.numpy(),) for (x,) in samples]), strict=True)
    with torch.no_grad():
        exact = zip(*(module(*sample) for sample in samples), strict=True)
    ratios = [
        snr(list(real), [torch.from_numpy(x.copy()) for x in made])
        for real, made in zip(exact, computed, strict=True)
    ]
    assert min(ratios) > 25, ratios

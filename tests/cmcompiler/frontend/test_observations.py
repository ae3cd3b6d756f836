"""Ranges of small numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cmcompiler import api


class Quiet(nn.Module):
    """Microvolts, and weights for them."""

    def __init__(self, scale: float, factor: float) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(8, 8), scale
        with torch.no_grad():
            self.layer.weight.mul_(factor)
            self.layer.bias.mul_(scale * factor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(x * self.scale))


@pytest.mark.parametrize(("scale", "factor"), [(1e-12, 1.0), (1e6, 1e-8)])
def test_small_numbers_have_small_steps(scale: float, factor: float) -> None:
    torch.manual_seed(0)
    network, samples = Quiet(scale, factor), [torch.randn(1, 8) for _ in range(8)]
    compiled = api.compile(network, samples[0], samples)
    assert compiled.fidelity.faithful is True
    assert not any(each.reason for each in compiled.placement)
    assert compiled.vectors is not None
    exact = np.stack([network(each).detach().double().numpy() for each in samples])
    ours = np.stack([each.astype(float) for (each,) in api.reference(compiled, compiled.vectors)])
    assert 10 * np.log10((exact**2).sum() / ((exact - ours) ** 2).sum()) > 32

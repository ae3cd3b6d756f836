"""Maxima, minima and choices get the range of their results where operands are much wider."""

from __future__ import annotations

import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler import api


class Choosing(nn.Module):
    """A maximum and a minimum with numbers far beyond what they choose, and a compared tensor."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.near, self.far, self.last = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Tensor:
        near, far = self.near(x), self.far(x)
        large = torch.maximum(near, 80 * far - 400)
        small = torch.minimum(near, 60 * far + 300)
        return torch.where(far > 0.1, large, small)


def test_numbers_that_are_never_chosen_take_no_steps() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 16),) for _ in range(16)]
    module = Choosing().eval()
    compiled = api.compile(module, samples[0], samples)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, samples) > 30
    # Operands stop at the ends of the range on purpose: nothing warns of them.
    assert all(layer.clipped == 0 for layer in compiled.fidelity.layers)
    assert min(each.snr_db for each in compiled.fidelity.resolutions) > 20

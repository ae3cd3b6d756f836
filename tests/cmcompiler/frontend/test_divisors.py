"""Divisions by numbers that 8 bits would make 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cmcompiler import api


class Directions(nn.Module):
    """Spectra divided by their magnitudes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = torch.fft.rfft(x)
        return torch.view_as_real(z / (z.abs() + 1e-3))


class Shares(nn.Module):
    """Sums divided by others, some of which are a millionth."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(-1) / x[..., 1:].sum(-1).clamp(min=1e-6)


class Means(nn.Module):
    """Divided by numbers of which none is small."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (x.flip(-1).abs() + 1)


@pytest.mark.parametrize(
    ("network", "shape", "least", "is_float"),
    [
        (Directions(), (1, 16), 20.0, True),
        (Shares(), (4, 8), 35.0, True),
        (Means(), (4, 8), 35.0, False),
    ],
    ids=["spectra", "sums", "none is small"],
)
def test_divides_in_float_if_a_divisor_would_be_0(
    network: nn.Module, shape: tuple[int, ...], least: float, is_float: bool
) -> None:
    torch.manual_seed(0)
    samples = [torch.randn(shape) for _ in range(8)]
    compiled = api.compile(network, samples[0], samples)
    assert (compiled.fidelity.faithful, compiled.fidelity.unpaired) == (True, ())
    reasons = [each.reason or "" for each in compiled.placement if each.op == "div"]
    assert bool(reasons) is True
    assert all(("would be rounded to 0" in each) == is_float for each in reasons)
    exact = np.stack([network(sample).numpy() for sample in samples]).astype(float)
    assert compiled.vectors is not None
    made = np.stack([result for (result,) in api.reference(compiled, compiled.vectors)])
    error = ((made - exact) ** 2).sum()
    assert 10 * np.log10((exact**2).sum() / error) > least


class Gains(nn.Module):
    """Levels divided by a power of their mean, which int16 holds and int8 does not."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        level = x.abs() * torch.exp(4 * x[..., :1])
        return level / (level.mean(-1, keepdim=True) + 1e-6) ** 0.98


def test_divides_what_16_bits_hold_before_8_round_it() -> None:
    torch.manual_seed(0)
    samples = [torch.randn(1, 4, 8) for _ in range(8)]
    compiled = api.compile(Gains(), samples[0], samples, activations="int16")
    assert compiled.fidelity.faithful
    (division,) = (each for each in compiled.placement if each.op == "div")
    assert "left in float" in (division.reason or "")
    assert min(each.snr_db for each in compiled.fidelity.resolutions) > 20

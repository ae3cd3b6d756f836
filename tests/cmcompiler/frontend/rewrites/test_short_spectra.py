"""Spectra and energies keep the small numbers that logarithms and roots show."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler import api

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

BINS, FILTERS, WINDOW = 33, 8, 64


class Spectrum(nn.Module):
    """A function of the energies of a spectrum, each filter's by itself, and a layer.

    Args:
        is_filtered: filters lie between the spectrum and the function.
    """

    window: Tensor
    filters: Tensor

    def __init__(self, function: str, is_filtered: bool = True) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("window", torch.hann_window(WINDOW))
        overlap = 1 - (torch.linspace(0, 9, BINS)[:, None] - torch.arange(1, 9)).abs()
        self.register_buffer("filters", overlap.clamp(min=0) if is_filtered else torch.eye(BINS))
        torch.manual_seed(0)
        self.norm = nn.LayerNorm(FILTERS if is_filtered else BINS)
        self.is_filtered = is_filtered

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(
            x, WINDOW, WINDOW // 2, window=self.window, center=False, return_complex=True
        )
        energies = spectrum.abs().square().transpose(1, 2)
        if self.is_filtered:
            energies = energies @ self.filters
        is_logarithm = self.function == "log"
        result: Tensor = self.norm((energies + 1e-6).log() if is_logarithm else energies.pow(0.3))
        return result


def waves(seed: int) -> list[tuple[Tensor, ...]]:
    """Tones from loud to a fiftieth of that, each in noise."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(512) / 512
    tones = [
        torch.sin(2 * torch.pi * (20 << place % 4) * time) * 50 ** -float(level)
        for place, level in enumerate(torch.rand(16, generator=generator))
    ]
    return [(tone[None] + 0.01 * torch.randn(1, 512, generator=generator),) for tone in tones]


@pytest.mark.parametrize(
    ("function", "is_filtered", "least"),
    [("log", True, 30), ("pow", True, 30), ("log", False, 20)],  # of noise alone, input alone 12
)
def test_small_numbers_are_kept(function: str, is_filtered: bool, least: float) -> None:
    module, inputs = Spectrum(function, is_filtered).eval(), waves(1)
    compiled = api.compile(module, inputs[0], inputs)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, waves(2)) > least


class Gain(nn.Module):
    """The energies of filters divided by their smoothing, and a root, as in PCEN."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Conv1d(1, 4, 15, padding=7, bias=False)
        self.pool = nn.AvgPool1d(32)

    def forward(self, x: Tensor) -> Tensor:
        y = self.pool(self.filters(x[:, None]).square()).clamp(min=1e-5)
        smoothed, m = [], y[..., 0]
        for place in range(y.shape[-1]):
            m = 0.96 * m + 0.04 * y[..., place]
            smoothed.append(m)
        return (y / (1e-6 + torch.stack(smoothed, -1)) ** 0.96 + 2).sqrt() - 2**0.5


def test_gains_of_small_energies_are_kept_in_integers() -> None:
    torch.manual_seed(0)
    module, inputs = Gain().eval(), [(torch.randn(1, 512),) for _ in range(16)]
    compiled = api.compile(module, inputs[0], inputs[:8])
    assert compiled.fidelity.faithful
    assert not any("Float" in type(node.op).__name__ for node in compiled.graph.nodes)
    assert integer_snr(module, compiled.pte, inputs[8:]) > 33


def test_energies_of_one_size_stay_in_integers() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(4, 8, 3), nn.Sigmoid(), Logarithm())
    inputs = [(torch.randn(1, 4, 32),) for _ in range(8)]
    compiled = api.compile(module.eval(), inputs[0], inputs)
    types = {type(node.op).__name__ for node in compiled.graph.nodes}
    assert not any("Short" in name or "Float" in name for name in types)


class Logarithm(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.log(x + 0.5)

"""A machine's vibration, as 32 bands: the network learns to repeat what is normal.

What it cannot repeat is not normal: `python anomaly/watch.py` shows the errors of both.
"""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

BANDS = 32


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(BANDS, 24), nn.ReLU(), nn.Linear(24, 6), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, BANDS))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def spectra(number: int, generator: torch.Generator, is_worn: bool = False):
    """A rotor's tone and its harmonics at some speed; a worn bearing adds one between them."""
    speed = 4 + 2 * torch.rand(number, 1, generator=generator)
    bands = torch.arange(BANDS)
    tones = sum(torch.exp(-((bands - k * speed) ** 2) / 2) / k for k in (1, 2, 3))
    if is_worn:
        tones = tones + 0.8 * torch.exp(-((bands - 4.6 * speed) ** 2) / 2)
    return tones + 0.02 * torch.randn(number, BANDS, generator=generator)


def make():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    module = Autoencoder()
    optimizer = torch.optim.Adam(module.parameters(), 0.01)
    for _ in range(300):
        normal = spectra(64, generator)
        optimizer.zero_grad()
        F.mse_loss(module(normal), normal).backward()
        optimizer.step()
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=spectra(1, generator),
        calibration=list(spectra(64, generator).split(1)),
        samples=list(spectra(8, generator).split(1)),
    )

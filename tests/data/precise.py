"""Networks whose users hear or see the rounding of eight bits."""

import torch
from torch import Tensor, nn


def sampled(module: nn.Module, *shape: int, count: int = 16):
    data = [(torch.randn(shape),) for _ in range(count)]
    return module.eval(), data[0], data


class Denoiser(nn.Module):
    """Two masks, one on a spectrum and one on learnt features, as DTLN."""

    def __init__(self, bins: int = 65, features: int = 64, units: int = 32) -> None:
        super().__init__()
        self.first, self.second = (nn.LSTM(n, units, batch_first=True) for n in (bins, features))
        self.mask, self.further_mask = nn.Linear(units, bins), nn.Linear(units, features)
        self.encoder, self.norm = nn.Linear(bins, features, bias=False), nn.LayerNorm(features)
        self.decoder = nn.Linear(features, bins, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x * torch.sigmoid(self.mask(self.first(x)[0]))
        y = self.encoder(x)
        kept = torch.sigmoid(self.further_mask(self.second(self.norm(y))[0]))
        return self.decoder(y * kept)


def denoiser():
    torch.manual_seed(0)
    module, _, data = sampled(Denoiser(), 1, 16, 65)
    data = [(x.abs(),) for (x,) in data]
    return module, data[0], data


class Pitch(nn.Module):
    """Residual convolutions over a spectrum of logarithmic frequencies, as PESTO."""

    def __init__(self, bins: int = 128, channels: int = 12) -> None:
        super().__init__()
        self.norm, self.first = nn.LayerNorm(bins), nn.Conv1d(1, channels, 15, padding=7)
        self.residual = nn.ModuleList(
            nn.Conv1d(channels, channels, 15, padding=7) for _ in range(2)
        )
        self.last, self.head = nn.Conv1d(channels, 2, 1), nn.Linear(2 * bins, 96, bias=False)
        self.activation = nn.LeakyReLU(0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.activation(self.first(self.norm(x)))
        for layer in self.residual:
            x = x + self.activation(layer(x))
        x = self.activation(self.last(x)).flatten(1)
        return torch.softmax(self.head(x), -1)


def pitch():
    torch.manual_seed(0)
    return sampled(Pitch(), 1, 1, 128)


class Steps(nn.Module):
    """A recurrent layer whose outputs at all steps are read."""

    def __init__(self, layer: nn.RNNBase, units: int) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(units, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0])


def lstm():
    torch.manual_seed(0)
    return sampled(Steps(nn.LSTM(12, 32, batch_first=True), 32), 1, 250, 12, count=8)


def gru():
    torch.manual_seed(0)
    return sampled(Steps(nn.GRU(12, 32, batch_first=True), 32), 1, 250, 12, count=8)


class SuperResolution(nn.Module):
    """Adds what convolutions make of an image to its enlargement."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(1, channels, 5, padding=2), nn.ReLU()),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(channels, 4, 3, padding=1), nn.PixelShuffle(2)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) + nn.functional.interpolate(x, scale_factor=2)


def super_resolution():
    torch.manual_seed(0)
    images = [(torch.rand(1, 1, 16, 16),) for _ in range(16)]
    return SuperResolution().eval(), images[0], images

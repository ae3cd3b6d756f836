"""One-dimensional convolution networks over time."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def network(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv1d(3, 16, 7, padding=3), nn.BatchNorm1d(16), activation(), nn.MaxPool1d(2)),
        *(nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), activation(), nn.MaxPool1d(2)),
        *(nn.Conv1d(32, 32, 3, padding=1, groups=32), nn.BatchNorm1d(32), activation()),
        *(nn.Conv1d(32, 48, 1), nn.BatchNorm1d(48), activation()),
        *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(48, 6), nn.Softmax(-1)),
    )


def sampled(module: nn.Module, *shape: int):
    return module.eval(), (torch.randn(shape),), [(torch.randn(shape),) for _ in range(16)]


def gelu():
    torch.manual_seed(0)
    return sampled(network(nn.GELU), 1, 3, 128)


def leaky():
    torch.manual_seed(0)
    return sampled(network(lambda: nn.LeakyReLU(0.1)), 1, 3, 128)


def hardswish():
    torch.manual_seed(0)
    return sampled(network(nn.Hardswish), 1, 3, 128)


class Wav2Letter(nn.Module):
    """Strided, long kernels, clipped activations; log-probabilities of letters."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(13, 48, 11, 2), (48, 48, 7, 1), (48, 64, 7, 1), (64, 96, 1, 1)]
        self.layers = nn.ModuleList(nn.Conv1d(i, o, k, s, k // 2) for i, o, k, s in widths)
        self.letters = nn.Conv1d(96, 29, 1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = F.hardtanh(layer(x), 0.0, 6.0)
        return F.log_softmax(self.letters(x), 1)


def wav2letter():
    torch.manual_seed(0)
    return sampled(Wav2Letter(), 1, 13, 96)


class Causal(nn.Module):
    """A residual block of dilated convolutions that see the past only."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.padding = 2 * dilation
        self.first = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first(F.pad(x, (self.padding, 0))))
        y = F.relu(self.second(F.pad(y, (self.padding, 0))))
        return F.relu(x + y)


def temporal():
    torch.manual_seed(0)
    blocks = [Causal(24, 2**k) for k in range(4)]
    return sampled(nn.Sequential(nn.Conv1d(4, 24, 1), *blocks, nn.Conv1d(24, 5, 1)), 1, 4, 64)


class Gated(nn.Module):
    """WaveNet's block: tanh × sigmoid, a residual and a skip path."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilated = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.padding = dilation
        self.residual = nn.Conv1d(channels, channels, 1)
        self.skip = nn.Conv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        filtered, gate = self.dilated(F.pad(x, (self.padding, 0))).chunk(2, 1)
        y = torch.tanh(filtered) * torch.sigmoid(gate)
        return x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 24, 1)
        self.blocks = nn.ModuleList(Gated(24, 2**k) for k in range(5))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(24, 24, 1), nn.ReLU(), nn.Conv1d(24, 16, 1))

    def forward(self, x: Tensor) -> Tensor:
        x, total = self.first(x), 0.0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        return self.last(total)


def wavenet():
    torch.manual_seed(0)
    return sampled(WaveNet(), 1, 1, 96)


class PointNet(nn.Module):
    """Each point alone, then the maximum over points."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(3, 32), (32, 48), (48, 64)]
        parts = [
            part for i, o in widths for part in (nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
        ]
        self.points = nn.Sequential(*parts)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.points(x).max(2).values)


def pointnet():
    torch.manual_seed(0)
    return sampled(PointNet(), 1, 3, 128)

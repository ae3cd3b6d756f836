"""Small networks whose users hear or see the rounding of eight bits, for `snr.py`.

Their weights are random. Each function gives a module, inputs to calibrate with, and inputs that
nothing has seen.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

NAMES = (
    *("enhancer", "denoiser", "pitch", "lstm", "gru", "transformer", "autoencoder"),
    *("super_resolution", "magnitude", "wide_logits"),
)

Made = tuple[nn.Module, list[tuple[Tensor]], list[tuple[Tensor]]]

_DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
_UNSEEN = 24
_SEED = 99

sys.path[:0] = [str(_DATA), str(_DATA / "models")]
_precise: Any = importlib.import_module("precise")
_kinds: Any = importlib.import_module("kinds")


def enhancer() -> Made:
    """As GTCRN."""
    return _with_unseen(_kinds.enhancer(), lambda: torch.randn(1, 2, 16, 64))


def denoiser() -> Made:
    """As DTLN."""
    return _with_unseen(_precise.denoiser(), lambda: torch.randn(1, 16, 65).abs())


def pitch() -> Made:
    """As PESTO."""
    return _with_unseen(_precise.pitch(), lambda: torch.randn(1, 1, 128))


def lstm() -> Made:
    return _with_unseen(_precise.lstm(), lambda: torch.randn(1, 250, 12))


def gru() -> Made:
    return _with_unseen(_precise.gru(), lambda: torch.randn(1, 250, 12))


class Transformer(nn.Module):
    """Patches of an image and a token for its class, two blocks, as ViT."""

    def __init__(self, size: int = 48, heads: int = 3) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, size, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, size) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 65, size) * 0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                size, heads, 2 * size, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(2)
        )
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def transformer() -> Made:
    torch.manual_seed(0)
    return _sampled(Transformer(), lambda: torch.randn(1, 3, 32, 32))


def autoencoder() -> Made:
    torch.manual_seed(0)
    down = nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()
    up = [nn.ConvTranspose2d(a, b, 3, 2, 1, output_padding=1) for a, b in ((16, 8), (8, 1))]
    module = nn.Sequential(*down, up[0], nn.ReLU(), up[1], nn.Sigmoid())
    return _sampled(module, lambda: torch.rand(1, 1, 28, 28))


def super_resolution() -> Made:
    return _with_unseen(_precise.super_resolution(), lambda: torch.rand(1, 1, 16, 16))


class Magnitude(nn.Module):
    """A layer that reads the magnitude of a spectrum."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(torch.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + 1e-12))


def magnitude() -> Made:
    """Rows and bins of very different loudness."""
    torch.manual_seed(0)
    return _sampled(
        Magnitude(),
        lambda: (
            torch.randn(1, 2, 16, 64)
            * torch.exp(torch.randn(1, 1, 16, 1) - 1)
            * torch.exp(0.5 * torch.randn(1, 1, 1, 64))
        ),
    )


def wide_logits() -> Made:
    """A softmax of smooth logits in the hundreds."""
    torch.manual_seed(0)
    last = nn.Linear(64, 128, bias=False)
    module = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), last, nn.Softmax(-1))
    places = torch.arange(128)
    smooth = torch.exp(-(((places[:, None] - places) / 8.0) ** 2) / 2)
    with torch.no_grad():
        last.weight.copy_(smooth @ torch.randn(128, 64))
        logits = module[:3](torch.randn(64, 32))
        last.weight.mul_(100 / logits.std())
    return _sampled(module, lambda: torch.randn(1, 32), 64)


def _sampled(module: nn.Module, drawn: Callable[[], Tensor], count: int = 16) -> Made:
    data = [(drawn(),) for _ in range(count)]
    return _with_unseen((module.eval(), data[0], data), drawn)


def _with_unseen(made: tuple[nn.Module, Any, Any], drawn: Callable[[], Tensor]) -> Made:
    module, _, data = made
    torch.manual_seed(_SEED)
    return module, list(data), [(drawn(),) for _ in range(_UNSEEN)]

"""Norms that are spelled out become the compiler's own, with the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn.functional import normalize

X = torch.randn(2, 6, 3, 4, generator=torch.Generator().manual_seed(1))

Compute = Callable[["Written", Tensor], Tensor]


class Written(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute
        generator = torch.Generator().manual_seed(2)
        self.weight, self.bias = (
            nn.Parameter(torch.randn(4, generator=generator)) for _ in range(2)
        )
        self.channels = nn.Parameter(torch.randn(6, 1, 1, generator=generator))
        self.norm = nn.LayerNorm(4)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def channel_norm(self: Written, x: Tensor) -> Tensor:
    mean = x.mean(1, keepdim=True)
    variance = (x - mean).pow(2).mean(1, keepdim=True)
    return self.channels * ((x - mean) / torch.sqrt(variance + 1e-6)) + self.channels


def annotated(self: Written, x: Tensor) -> Tensor:
    mean, deviation = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
    return self.weight * (x - mean) / (deviation + 1e-6) + self.bias


def standardised(_: Written, x: Tensor) -> Tensor:
    return (x - x.mean((1, 2, 3), True)) * torch.rsqrt(
        x.var((1, 2, 3), unbiased=False, keepdim=True) + 1e-5
    )


def mean_square(x: Tensor) -> Tensor:
    return x.pow(2).mean(-1, keepdim=True)


RMS: dict[str, Compute] = {
    "rsqrt": lambda self, x: self.weight * (x * torch.rsqrt(mean_square(x) + 1e-6)),
    "sqrt": lambda self, x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight,
    "power": lambda _, x: x * (x.square().mean((1, -1), keepdim=True) + 1e-6).pow(-0.5),
    "sum": lambda _, x: x / (x.pow(2).sum(1, keepdim=True) + 1e-6).sqrt(),
    "norm": lambda _, x: x / (x.norm(dim=-1, keepdim=True) + 1e-8),
    "normalize": lambda _, x: normalize(x, dim=1),
    "normalize last": lambda self, x: normalize(x, dim=-1) * self.weight,
    "bare": lambda _, x: x / x.norm(dim=(2, 3), keepdim=True),
}
LAYER: dict[str, Compute] = {
    "channels": channel_norm,
    "annotated": annotated,
    "standardised": standardised,
    "factors": lambda self, x: self.norm(x) * self.weight + self.bias,
}


@pytest.mark.parametrize("name", RMS)
def test_rms_norms(name: str) -> None:
    assert targets(rewritten(Written(RMS[name]), X)) == ["cmbuild.rms_norm.default"]


@pytest.mark.parametrize("name", LAYER)
def test_layer_norms(name: str) -> None:
    operators = targets(rewritten(Written(LAYER[name]), X))
    assert operators.count("cmbuild.layer_norm.default") == 1
    assert "cmbuild.mean.default" not in operators


@pytest.mark.parametrize(
    "compute",
    [
        lambda _, x: x / (x.norm(dim=-1, keepdim=True) + 0.5),
        lambda _, x: x / x.norm(p=1, dim=-1, keepdim=True),
        lambda _, x: x[:, :1] / torch.sqrt(mean_square(x[:, 1:2]) + 1e-6),
        lambda _, x: (x - x.mean(1, keepdim=True)) / (x.var(-1, keepdim=True) + 1).sqrt(),
        lambda _, x: x * torch.rsqrt(x.mean(-1, keepdim=True).abs() + 1e-6),
        lambda _, x: (x - x.mean()) / x.std(),
    ],
    ids=["large addend", "sum of magnitudes", "another", "other dimension", "mean", "of all"],
)
def test_others_stay(compute: Compute) -> None:
    operators = targets(rewritten(Written(compute), X))
    assert not any("norm.default" in name and "cmbuild" in name for name in operators)

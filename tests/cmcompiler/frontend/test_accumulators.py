"""Biases that are many steps of small weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.precision import ACTIVATIONS
from cmcompiler.frontend.sensitivity import snr


def _pruned(layer: nn.Module) -> nn.Module:
    """A layer of which one channel is only its bias."""
    axis = 1 if isinstance(layer, nn.ConvTranspose1d | nn.ConvTranspose2d) else 0
    layer.weight.data.transpose(0, axis)[1] = 0  # type: ignore[union-attr, operator]
    layer.bias.data[1] = 2.5  # type: ignore[union-attr, index]
    return layer


def _faint(layer: nn.Module) -> nn.Module:
    """A layer of small weights and a large bias."""
    layer.weight.data.mul_(1e-5)  # type: ignore[union-attr, operator]
    layer.bias.data[:] = torch.linspace(-30, 20, len(layer.bias))  # type: ignore[arg-type]
    return layer


def _normalised() -> nn.Module:
    layer = nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU())
    layer[0].weight.data[1] = 0  # type: ignore[index, operator]
    layer[1].bias.data[1] = 2.5  # type: ignore[union-attr, index]
    layer[1].bias.data[2] = -1e9  # type: ignore[union-attr, index]
    return layer


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(6, 4, batch_first=True)
        with torch.no_grad():
            self.layer.weight_ih_l0[9:] = 0
            self.layer.bias_ih_l0[9:] = 2.5

    def forward(self, x: Tensor) -> Tensor:
        states: Tensor = self.layer(x.flatten(1, 2))[0]
        return states


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "convolution": lambda: _pruned(nn.Conv2d(2, 4, 3)),
    "with hardsigmoid": lambda: nn.Sequential(_faint(nn.Conv2d(2, 4, 3)), nn.Hardsigmoid()),
    "batch norm": _normalised,
    "depthwise": lambda: _pruned(nn.Conv2d(2, 2, 3, groups=2)),
    "transposed": lambda: _pruned(nn.ConvTranspose2d(2, 3, 3, 2)),
    "along a row": lambda: nn.Sequential(nn.Flatten(2), _pruned(nn.Conv1d(2, 4, 3))),
    "linear": lambda: nn.Sequential(nn.Flatten(), _pruned(nn.Linear(72, 4))),
    "faint": lambda: _faint(nn.Conv2d(2, 4, 1)),
    "faint linear": lambda: nn.Sequential(nn.Flatten(), _faint(nn.Linear(72, 4))),
    "recurrent": Recurrent,
}


class All(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(make() for make in LAYERS.values())

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(layer(x) for layer in self.layers)


@pytest.mark.parametrize("activations", ACTIVATIONS)
def test_every_layer_keeps_its_biases(activations: str) -> None:
    module = All().eval()
    samples = [(torch.rand(1, 2, 6, 6),) for _ in range(8)]
    compiled = api.compile(module, samples[0], samples, activations=activations)
    computed = zip(*api.reference(compiled, [(x.numpy(),) for (x,) in samples]), strict=True)
    with torch.no_grad():
        exact = zip(*(module(*sample) for sample in samples), strict=True)
    actual = {
        name: snr(list(real), [torch.from_numpy(x.copy()) for x in made])
        for name, real, made in zip(LAYERS, exact, computed, strict=True)
    }
    assert min(actual.values()) >= 30, actual

"""Hardsigmoids as parts of the layers before them."""

from __future__ import annotations

import pytest
import torch
from harness.pte import operators
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.gates import gate_of

SHIFTS = {"around 0.5": 0.0, "below 0.5": -2.0, "above 0.5": 2.0, "hardly open": -2.9}


class Gates(nn.Module):
    """Of layers with a bias, and of one without."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Conv2d(8, 16, 1) for _ in SHIFTS)
        self.layers.append(nn.Conv2d(8, 16, 1, bias=False))
        self.layers.append(nn.ConvTranspose2d(8, 4, 2, 2))
        self.linear = nn.Linear(128, 16)
        for layer, shift in zip(self.layers, SHIFTS.values(), strict=False):
            layer.weight.data *= 0.2  # type: ignore[operator]
            layer.bias.data += shift  # type: ignore[operator]

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        gates = (nn.functional.hardsigmoid(layer(x)) for layer in self.layers)
        return *gates, nn.functional.hardsigmoid(self.linear(x.flatten(1)))


def test_errors_average_0() -> None:
    module = Gates().eval()
    samples = [(torch.randn(1, 8, 4, 4),) for _ in range(16)]
    compiled = api.compile(module, samples[0], samples)
    assert "aten::hardsigmoid.out" not in operators(compiled.pte)
    computed = zip(*api.reference(compiled, [(x.numpy(),) for (x,) in samples]), strict=True)
    with torch.no_grad():
        exact = zip(*(module(*sample) for sample in samples), strict=True)
    for output, real, made in zip(compiled.contract.outputs, exact, computed, strict=True):
        assert output.scale is not None
        errors = torch.cat(
            [torch.from_numpy(m.copy()) - r for m, r in zip(made, real, strict=True)]
        )
        assert abs(errors.mean().item() / output.scale) < 0.12, output.name


@pytest.mark.parametrize("scale", [1 / 255, 1 / 256, 0.7 / 255, 0.2 / 255, 0.01 / 255])
@pytest.mark.parametrize("zero_point", [-128, -3])
def test_zero_point_and_rest_are_one_half(scale: float, zero_point: int) -> None:
    gate = gate_of(scale, zero_point)
    assert -128 <= gate.zero_point <= 127
    steps = gate.zero_point - zero_point + gate.rest / (6 * scale)
    assert steps * scale == pytest.approx(0.5)

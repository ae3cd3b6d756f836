"""Channels between layers are balanced without a change of the float function."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from cmcompiler.frontend import backend, operators
from cmcompiler.frontend.equalisation import equalise, pairs
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.simulation import Simulation

SPREAD = torch.tensor([2.0**k for k in (-4, -2, -1, 0, 0, 1, 2, 4)])


def uneven(second: nn.Module) -> nn.Module:
    """Channels of very different ranges between two convolutions."""
    torch.manual_seed(0)
    first = nn.Conv2d(3, 8, 3, padding=1)
    with torch.no_grad():
        first.weight *= SPREAD[:, None, None, None]
        first.bias *= SPREAD
        axis = 0 if second.groups > 1 else 1
        second.weight /= SPREAD.reshape(-1, *[1] * 3) if axis == 0 else SPREAD[:, None, None]
    return nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), second).eval()


def samples(count: int) -> list[tuple[Tensor, ...]]:
    return [(torch.randn(1, 3, 8, 8),) for _ in range(count)]


SECOND = {
    "convolution": lambda: nn.Conv2d(8, 6, 3),
    "depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8),
}


@pytest.mark.parametrize("second", SECOND)
def test_equalisation_keeps_the_float_function_and_can_be_undone(second: str) -> None:
    operators.define()
    torch.manual_seed(1)
    given = samples(4)
    graph = torch.export.export(uneven(SECOND[second]()), given[0]).module(check_guards=False)
    prepared = prepare_pt2e(graph, backend.Quantizer())
    with torch.no_grad():
        for sample in given:
            prepared(*sample)
        hold_ranges(prepared)
        simulation = Simulation(prepared)
        (pair,) = pairs(prepared)
        before = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
        change = equalise(simulation, [pair], given)
        balanced = simulation.run_on(given, rounding=False)
        change.undo()
        after = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
    torch.testing.assert_close(balanced, before[0], rtol=1e-4, atol=1e-5)
    assert all(
        torch.equal(x[0], y[0])
        for old, new in zip(before, after, strict=True)
        for x, y in zip(old, new, strict=True)
    )


@pytest.mark.parametrize("second", SECOND)
def test_uneven_channels_are_equalised(second: str) -> None:
    torch.manual_seed(1)
    given = samples(8)
    quantized = quantize(uneven(SECOND[second]()), given[0], given)
    steps = {step.name: step for step in quantized.refinements}
    step = steps["cross-layer equalisation"]
    assert step.snr_db > step.before_db + 3


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return x + self.second(x)


@pytest.mark.parametrize(
    "module",
    [
        Branching(),
        nn.Sequential(nn.Conv2d(3, 8, 1), nn.Sigmoid(), nn.Conv2d(8, 8, 1)),
        nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 8, 1, groups=2)),
        nn.Sequential(nn.Conv2d(3, 8, 1), nn.Flatten(), nn.Linear(512, 5)),
    ],
)
def test_other_layers_are_left_alone(module: nn.Module) -> None:
    operators.define()
    given = samples(1)[0]
    graph = torch.export.export(module.eval(), given).module(check_guards=False)
    prepared = prepare_pt2e(graph, backend.Quantizer())
    with torch.no_grad():
        prepared(*given)
    hold_ranges(prepared)
    assert list(pairs(prepared)) == []

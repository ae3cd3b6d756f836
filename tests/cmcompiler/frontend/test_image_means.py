"""Means over whole images get a range of their own where that pays."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from harness.pte import operators
from torch import Tensor, nn
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from cmcompiler.frontend import backend
from cmcompiler.frontend import operators as own
from cmcompiler.frontend.image_means import image_means, separate_means
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.own_ranges import GroupPart, GroupWatch
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.simulation import Simulation
from cmcompiler.target import Target

STEP = "own ranges of image means"
SUM = "cmbuild::quantized_sum"


class Mean(nn.Module):
    def __init__(self, keepdim: bool) -> None:
        super().__init__()
        self.keepdim = keepdim

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((3, -2), keepdim=self.keepdim)


POOLS = {
    "adaptive": lambda: nn.AdaptiveAvgPool2d(1),
    "window": lambda: nn.AvgPool2d(10),
    "mean": lambda: Mean(keepdim=True),
    "mean without dimensions": lambda: Mean(keepdim=False),
}


def network(pool: nn.Module) -> nn.Module:
    """Means of noise are much closer together than the noise."""
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 32, 3), nn.ReLU(), pool, nn.Flatten(), nn.Linear(32, 5))
    return nn.Sequential(*layers).eval()


def images(count: int) -> list[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    return [(channels_last(torch.randn(1, 3, 12, 12)),) for _ in range(count)]


def observed(
    module: nn.Module, samples: Iterable[tuple[Tensor, ...]]
) -> tuple[GraphModule, tuple[GroupPart, ...]]:
    own.define()
    samples = list(samples)
    graph = torch.export.export(module, samples[0]).module(check_guards=False)
    prepared = prepare_pt2e(graph, backend.Quantizer())
    watch = GroupWatch(prepared)
    means = tuple(image_means(prepared, watch))
    prepared.recompile()
    with torch.no_grad():
        for sample in samples:
            prepared(*sample)
    watch.end()
    hold_ranges(prepared)
    return prepared, means


@pytest.mark.parametrize("pool", POOLS)
def test_own_ranges_keep_the_float_function_and_can_be_taken_back(pool: str) -> None:
    given = images(4)
    prepared, means = observed(network(POOLS[pool]()), given)
    simulation = Simulation(prepared)
    with torch.no_grad():
        before = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
        change = separate_means(means)
        separated = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
        change.undo()
        after = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
    assert len(means) == 1
    torch.testing.assert_close(separated[0], before[0], rtol=1e-5, atol=1e-6)
    errors = [
        sum((x[0] - y[0]).square().sum() for x, y in zip(before[0], rounded, strict=True))
        for rounded in (before[1], separated[1])
    ]
    assert errors[1] < errors[0] / 2
    assert all(
        torch.equal(x[0], y[0])
        for old, new in zip(before, after, strict=True)
        for x, y in zip(old, new, strict=True)
    )


@pytest.mark.parametrize("pool", POOLS)
def test_means_much_closer_together_than_their_images_get_a_range(pool: str) -> None:
    given = images(16)
    quantized = quantize(network(POOLS[pool]()), given[0], given)
    steps = {step.name: step for step in quantized.refinements}
    assert steps[STEP].snr_db > steps[STEP].before_db + 2.5
    assert quantized.float_operators == ()
    assert SUM in operators(lower(quantized, Target.parse("cortex-m55")))


def test_portable_programs_keep_their_pools() -> None:
    given = images(16)
    quantized = quantize(network(nn.AdaptiveAvgPool2d(1)), given[0], given, is_portable=True)
    assert STEP not in [step.name for step in quantized.refinements]
    operators_left = operators(lower(quantized, Target.parse("cortex-m55")))
    assert all(name.startswith("cortex_m::") for name in operators_left)


def test_means_as_far_apart_as_their_images_keep_the_range() -> None:
    """Channels of constants: each mean is an element of the image."""
    module = network(nn.AdaptiveAvgPool2d(1))
    torch.manual_seed(2)
    given = [(channels_last(torch.randn(1, 3, 1, 1).expand(1, 3, 12, 12)),) for _ in range(16)]
    quantized = quantize(module, given[0], given)
    assert STEP not in [step.name for step in quantized.refinements]
    assert SUM not in operators(lower(quantized, Target.parse("cortex-m55")))


class Pooled(nn.Module):
    """Results beside others in one range."""

    def forward(self, x: Tensor) -> Tensor:
        means = nn.functional.adaptive_avg_pool2d(x, 1)
        return torch.cat([means, nn.functional.max_pool2d(x, 10)], 1)


@pytest.mark.parametrize(
    "module",
    [
        Pooled(),
        nn.Sequential(nn.ReLU(), nn.AvgPool2d(2)),
        nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
        nn.Sequential(nn.ReLU(), nn.AvgPool2d(10, padding=1, ceil_mode=True)),
    ],
)
def test_others_keep_the_range_that_they_share(module: nn.Module) -> None:
    _, means = observed(module, [(channels_last(torch.randn(1, 3, 10, 10)),)])
    assert means == ()

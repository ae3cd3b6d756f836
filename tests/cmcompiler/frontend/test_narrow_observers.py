"""Steps of weights of four bits, of channels and of groups of columns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from cmcompiler.frontend.narrow_observers import (
    OBSERVERS,
    NarrowPerChannelObserver,
    NarrowWeights,
    rounded_to_nibbles,
)
from cmcompiler.ops.support.nibbles import LARGEST
from cmcompiler.ops.support.weight_groups import WeightGroups


def observed(weights: Tensor, size: int = 0, axis: int = 0) -> NarrowWeights:
    kind, largest = (OBSERVERS[size], 127) if size else (NarrowPerChannelObserver, LARGEST)
    bounds = {"quant_min": -largest, "quant_max": largest, "dtype": torch.int8}
    observer = kind(axis, qscheme=torch.per_channel_symmetric, **bounds)
    observer(weights)
    return observer


def decibels(weights: Tensor, rounded: Tensor) -> float:
    return float(10 * torch.log10(weights.square().sum() / (rounded - weights).square().sum()))


def test_a_step_is_the_one_of_least_error() -> None:
    """Clipped or not, each channel is rounded no worse than by its largest weight."""
    weights = torch.randn(6, 40, generator=torch.Generator().manual_seed(1))
    weights[2, 5], weights[3] = 9.0, 0.0
    observer = observed(weights)

    def error(steps: Tensor) -> Tensor:
        rounded = (weights / steps[:, None]).round().clamp(-LARGEST, LARGEST) * steps[:, None]
        return (rounded - weights).square().sum(1)

    steps, _ = observer.calculate_qparams()
    plain = weights.abs().amax(1).clamp(min=1e-6) / LARGEST
    assert (error(steps) <= error(plain)).all() and error(steps)[2] < error(plain)[2]
    observer(2 * weights)
    assert torch.allclose(observer.calculate_qparams()[0][:2], 2 * steps[:2])
    assert torch.allclose(observed(weights).rounded(weights), rounded_to_nibbles(weights, 0))


@pytest.mark.parametrize("size", OBSERVERS)
def test_int8_weights_of_groups_are_four_bits_times_factors(size: int) -> None:
    weights = torch.randn(5, 40, 3, 3, generator=torch.Generator().manual_seed(2))
    weights[:, 8:24] *= 0.1
    observer = observed(weights, size)
    held = observer.rounded(weights)
    stored = (held.flatten(1) / observer.calculate_qparams()[0][:, None]).round()
    assert torch.allclose(stored * observer.calculate_qparams()[0][:, None], held.flatten(1))
    made = WeightGroups.of(stored.numpy().astype(np.int8))
    assert made is not None and made.size >= size
    assert torch.equal(observer.rounded(held), held)


def test_smaller_groups_keep_more() -> None:
    random = torch.Generator().manual_seed(3)
    weights = torch.randn(9, 512, generator=random) * torch.rand(9, 512, generator=random) ** 3
    kept = [decibels(weights, observed(weights, size).rounded(weights)) for size in (32, 128, 0)]
    assert kept[0] > kept[1] > kept[2]


def test_gradients_pass() -> None:
    weights = torch.randn(4, 70, requires_grad=True)
    for size in (0, 32):
        (3 * observed(weights, size).rounded(weights)).sum().backward()
        assert weights.grad is not None and bool((weights.grad == 3).all())
        weights.grad = None


def test_any_dimension_may_have_the_channels() -> None:
    weights = torch.randn(6, 5, 2, 2, generator=torch.Generator().manual_seed(4))
    made = observed(weights, axis=1).rounded(weights)
    turned = weights.transpose(0, 1)
    assert torch.equal(made, observed(turned).rounded(turned).transpose(0, 1))

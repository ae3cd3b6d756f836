"""Errors of one layer over several runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cmcompiler.frontend.fidelity.layer_errors import LayerErrors
from cmcompiler.frontend.fidelity.pairing import StepRange, ValuePair
from cmcompiler.ir.tensor import HeldValue, Tensor

STEP = 0.1


def errors(scale: float | None = STEP) -> LayerErrors:
    held = HeldValue(0, (4, 64), (0, 1))
    steps = None if scale is None else StepRange(scale, 3, -128, 127, False)
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    tensor = Tensor("value_0", np.dtype(np.int8), held.shape)
    return LayerErrors(ValuePair(node, "layer", tensor, held, steps, 0.56))


def quantized(x: torch.Tensor, offset: float = 0.0) -> np.ndarray:
    return np.clip(np.floor(x.numpy() / STEP + 0.5 + offset) + 3, -128, 127).astype(np.int8)


def test_roundings_are_within_half_a_step_and_cancel_out() -> None:
    layer, x = errors(), torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    layer.add(x, quantized(x))
    actual = layer.layer()
    assert actual.faithful
    assert 0.45 < actual.error_steps <= 0.5001
    assert abs(actual.mean_steps) < 0.1


def test_an_offset_within_half_a_step_shows_in_the_mean() -> None:
    layer, x = errors(), torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    layer.add(x, quantized(x, offset=-0.45))
    assert layer.layer().mean_steps == pytest.approx(-0.45, abs=0.08)
    assert not layer.layer().faithful


def test_means_of_two_numbers_are_rounded_up_and_yet_right() -> None:
    layer = errors()
    x = torch.arange(-128, 128).reshape(4, 64) * STEP / 4
    layer.add(x, quantized(x))
    assert layer.layer().mean_steps == 0.0


def test_clipping_counts_beyond_a_step_but_not_sentinels() -> None:
    layer, x = errors(), torch.zeros(4, 64)
    x[0, :16], x[1, :8] = 20.0, -1e9
    layer.add(x, quantized(x))
    assert layer.layer().faithful
    assert layer.layer().clipped == 16 / 256


def test_no_integer_stands_for_what_is_not_a_number() -> None:
    layer, x = errors(), torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    made = quantized(x)
    x[0, :3] = torch.nan
    layer.add(x, made)
    assert layer.layer().faithful
    layer = errors(None)
    layer.add(x, made.astype(np.float32))
    assert not layer.layer().faithful


def test_floats_are_compared_with_their_largest_element() -> None:
    layer, x = errors(None), torch.linspace(-1, 1, 256).reshape(4, 64)
    layer.add(x, x.numpy() + np.float32(1e-6))
    assert layer.layer().faithful
    layer.add(x, x.numpy() + np.float32(1e-4))
    assert not layer.layer().faithful


def test_a_state_that_never_moves_drifts() -> None:
    stalled, moving = errors(), errors()
    held = torch.zeros(4, 64)
    for run in range(1, 65):
        stalled.add(held + 0.04, quantized(held), held)
        x = torch.full((4, 64), 0.17 * run)
        moving.add(x, quantized(x), x - 0.17)
    assert stalled.drift == pytest.approx((1.0, 25.6), rel=1e-3)
    assert moving.drift[0] < 0.05

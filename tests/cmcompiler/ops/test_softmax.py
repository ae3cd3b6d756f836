"""Softmax on every runtime, and compared with the real function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.softmax import Softmax
from cmcompiler.ops.support.exponential import INT32_MAX, exp_of_negative, reciprocal_of_one_plus


def softmax(scale: float) -> Softmax:
    """For inputs of a scale, with the exporter's parameters."""
    mantissa, exponent = math.frexp(scale * 2**26)
    least = -math.floor(31 * 2.0 ** (26 - exponent))
    return Softmax(round(mantissa * 2**31), exponent, max(least, -(INT32_MAX >> exponent)))


@st.composite
def rows(draw: st.DrawFn) -> Example:
    scale = draw(st.floats(1e-3, 0.5))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 70)))
    return single(softmax(scale), int8_array(shape, draw(seeds)))


@settings(max_examples=10)
@given(st.lists(rows(), min_size=1, max_size=30))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("length", [511, 512, 513, 2049, 9000])
def test_long_rows_on_every_runtime(runtime: Runtime, length: int) -> None:
    rng = np.random.default_rng(length)
    nearly_equal = rng.integers(-3, 3, (2, length), dtype=np.int8)
    runtime.check(*(single(softmax(scale), nearly_equal) for scale in (0.001, 0.5)))


@given(scale=st.floats(1e-3, 0.3), length=st.integers(1, 1000), seed=seeds)
def test_within_a_step_of_the_real_softmax(scale: float, length: int, seed: int) -> None:
    x = int8_array((length,), seed)
    powers = np.exp((x.astype(float) - x.max()) * scale)
    exact = 256 * powers / powers.sum() - 128
    assert np.abs(softmax(scale).reference(x)[0] - np.clip(exact, -128, 127)).max() < 0.51


def test_rows_whose_probabilities_are_all_below_half_a_step_are_zero() -> None:
    """CMSIS-NN returns 1/256 for each of them."""
    equal = np.zeros((2, 600), np.int8)
    assert (softmax(0.1).reference(equal)[0] == -128).all()


@given(st.integers(-INT32_MAX, 0))
def test_exponential(x: int) -> None:
    assert exp_of_negative(x) == pytest.approx(math.exp(x / 2**26) * 2**31, abs=1024)


@given(st.integers(0, INT32_MAX))
def test_reciprocal(x: int) -> None:
    exact = 2**31 / (1 + x / 2**31)
    assert reciprocal_of_one_plus(x) == pytest.approx(exact, abs=16)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_dimensions_of_one_after_the_softmaxs_own(order: tuple[int, ...]) -> None:
    """Memory looks as if the softmax's dimension were last, but the shape does not."""
    x, op = int8_array((3, 8, 1, 1), 1), softmax(0.1)
    parameters = (1, -5, -128, op.multiplier, op.shift, op.least)
    call = calling("cortex_m::softmax.out", In(x, order), *parameters, Out("int8", x.shape))
    expected = op.reference(x.reshape(3, 8))[0].reshape(x.shape)
    assert np.array_equal(call.reference.outputs[0], expected)

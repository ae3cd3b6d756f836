"""Quantize and dequantize on every runtime: ties, infinities, NaN, numbers far out of range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import DTYPES, Quantize

scales = st.floats(2.0**-20, 2.0**20, width=32) | st.integers(-20, 20).map(lambda n: 2.0**n)
dtypes = st.sampled_from(DTYPES)

SPECIAL = np.array(
    [0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, 2**23, -(2**31)],
    np.float32,
)


def numbers(scale: float, count: int, seed: int) -> npt.NDArray[np.float32]:
    """Values inside and outside the range, half steps, and special ones."""
    rng = np.random.default_rng(seed)
    half_steps = rng.integers(-600, 600, count) / 2
    spread = rng.normal(0, 100, count) * 10.0 ** rng.integers(-3, 6, count)
    kind = rng.integers(0, 20, count)
    chosen = np.where(kind < 10, half_steps, spread).astype(np.float32) * np.float32(scale)
    return np.where(kind == 19, rng.choice(SPECIAL, count), chosen)


@st.composite
def zero_points(draw: st.DrawFn, dtype: np.dtype) -> int:
    limits = np.iinfo(dtype)
    return draw(st.integers(limits.min, limits.max))


@st.composite
def quantizations(draw: st.DrawFn) -> Example:
    dtype, scale = draw(dtypes), draw(scales)
    limits = np.iinfo(dtype)
    low, high = limits.min, limits.max
    if draw(st.booleans()):
        low, high = sorted((draw(zero_points(dtype)), draw(zero_points(dtype))))
    op = Quantize(dtype, scale, draw(zero_points(dtype)), low, high)
    return single(op, numbers(scale, draw(st.integers(1, 100)), draw(seeds)))


@st.composite
def dequantizations(draw: st.DrawFn) -> Example:
    dtype = draw(dtypes)
    op = Dequantize(draw(scales), draw(zero_points(dtype)))
    return single(op, array((draw(st.integers(1, 100)),), dtype.name, draw(seeds)))


@settings(max_examples=10)
@given(st.lists(quantizations(), min_size=1, max_size=40))
def test_quantize_on_every_runtime(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@settings(max_examples=10)
@given(st.lists(dequantizations(), min_size=1, max_size=40))
def test_dequantize_on_every_runtime(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def quantized(op: Quantize, *values: float) -> list[int]:
    return op.reference(np.array(values, np.float32))[0].tolist()


def test_halves_go_to_even_and_overflow_saturates() -> None:
    op = Quantize(np.dtype(np.int8), 1.0, 0, -128, 127)
    assert quantized(op, 0.5, 1.5, -0.5, -2.5, 1000, -1000) == [0, 2, 0, -2, 127, -128]
    assert quantized(op, 40000, -40000, 2.0**31, -(2.0**40)) == [127, -128, 127, -128]


@pytest.mark.parametrize("zero_point", [-128, -3, 0, 5, 127])
def test_special_numbers(zero_point: int) -> None:
    op = Quantize(np.dtype(np.int8), 0.1, zero_point, -128, 127)
    assert quantized(op, np.nan, np.inf, -np.inf) == [zero_point, 127, -128]


def test_the_product_is_rounded_before_it_is_rounded_to_an_integer() -> None:
    """A fused multiply-add, which keeps the exact product, returns 11."""
    op = Quantize(np.dtype(np.int8), float(np.float32(0.3)), 0, -128, 127)
    x = np.float32(3.15)
    assert float(x) * float(op.inverse_scale) > 10.5
    assert x * op.inverse_scale == 10.5
    assert quantized(op, 3.15) == [10]

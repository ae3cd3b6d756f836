"""ReLU with slopes on every runtime against the reference, the reference against the definition."""

from __future__ import annotations

import numpy as np
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.prelu import FACTOR_BITS, Prelu
from cmcompiler.ops.support.parameters import Rescale

factors = st.integers(-(1 << FACTOR_BITS), 1 << FACTOR_BITS)


@st.composite
def calls(draw: st.DrawFn) -> Example:
    channels = draw(st.integers(1, 40))
    below = draw(st.lists(factors, min_size=channels, max_size=channels))
    shift = draw(st.integers(0, FACTOR_BITS))
    zero_point, output = draw(zero_points), draw(zero_points)
    op = Prelu(np.array(below, np.int32), draw(factors), shift, zero_point, output)
    return single(op, int8_array((draw(st.integers(1, 4)), 3, channels), draw(seeds)))


@settings(max_examples=10)
@given(st.lists(calls(), min_size=1, max_size=30))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_extremes_stay_within_32_bits(runtime: Runtime) -> None:
    most = 1 << FACTOR_BITS
    x = np.array([[-128, 127, 0]], np.int8)
    examples = [
        single(Prelu(np.full(3, below, np.int32), above, FACTOR_BITS, centre, output), x)
        for below in (-most, most)
        for above in (-most, most)
        for centre in (-128, 127)
        for output in (-128, 127)
    ]
    runtime.check(*examples)


def test_factors_of_any_size_stay_within_32_bits(runtime: Runtime) -> None:
    """As scales of a `.tflite` may give them: x times one fills 32 bits."""
    x = np.arange(-128, 128, dtype=np.int8).reshape(-1, 2)
    below = np.array([1, -127], np.int32)
    examples = [
        single(Prelu(below, 0, 0, centre, output, (factor, factor)), x)
        for factor in (Rescale(0, (1 << 31) - 1, 30), Rescale(0, (1 << 31) - 1, 31))
        for centre in (-128, 0, 127)
        for output in (-128, 0, 127)
    ]
    runtime.check(*examples)


def test_slopes_are_of_channels_and_halves_round_up() -> None:
    below = np.array([1 << 19, -(1 << 20), 3 << 19], np.int32)
    op = Prelu(below, 1 << 20, 20, 2, -1)
    x = np.array([[-4, -4, -4], [1, 1, 1], [7, 7, 7]], np.int8)
    exact = np.array([[-3.0, 6.0, -9.0], [-0.5, 1.0, -1.5], [5.0, 5.0, 5.0]])
    np.testing.assert_array_equal(op.reference(x)[0], np.floor(exact + 0.5) - 1)

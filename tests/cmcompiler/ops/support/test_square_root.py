"""The reciprocal square root against the real one."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cmcompiler.ops.support.square_root import LARGEST, MANTISSA_BITS, inverse_square_root


@given(st.integers(0, 62).flatmap(lambda bits: st.integers(1, max(LARGEST >> bits, 1))))
@example(1)
@example(4)
@example(LARGEST)
def test_within_24_bits_of_the_real_one(x: int) -> None:
    mantissa, exponent = inverse_square_root(x)
    assert 1 << 30 <= mantissa < 1 << 31
    real = 1 / math.sqrt(x)
    assert math.ldexp(mantissa, -MANTISSA_BITS - exponent) == pytest.approx(real, rel=2**-23)

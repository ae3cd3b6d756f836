"""Helpers for user code that quantises operators."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.frontend.quantized_op import fixed_point


@given(factor=st.floats(2.0**-32, 2.0**30, exclude_min=True))
def test_a_fixed_point_factor_is_the_nearest_of_31_bits(factor: float) -> None:
    multiplier, shift = fixed_point(factor)
    assert 2**30 <= multiplier < 2**31
    exact = Fraction(multiplier) * Fraction(2) ** (shift - 31)
    assert abs(exact / Fraction(factor) - 1) <= Fraction(1, 2**31)


def test_factors_that_only_make_zeros_are_zero() -> None:
    assert fixed_point(2.0**-40) == (0, 0)
    assert fixed_point(1.0) == (1 << 30, 1)
    assert fixed_point(1.0 - 2.0**-40) == (1 << 30, 1)

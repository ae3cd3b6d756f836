"""Inverse roots of integers, against those of floats."""

from __future__ import annotations

import pytest

from cmcompiler.ops.support.inverse_root import inverse_root


@pytest.mark.parametrize("x", [1, 2, 3, 4, 100, 12345, (1 << 29) - 1, 1 << 29, (1 << 31) - 1])
def test_roots_are_right_to_six_digits(x: int) -> None:
    multiplier, shift = inverse_root(x)
    assert multiplier * 2.0 ** (shift - 31) == pytest.approx(x**-0.5, rel=2e-6)


def test_zero_is_taken_for_one() -> None:
    assert inverse_root(0) == inverse_root(1)

"""The fixed-point arithmetic against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.ir.op import ONE_ROUNDING
from cmcompiler.ops.support.requantize import (
    Range16,
    Requantize,
    doubling_high_multiply,
    requantize,
    rounding_shift_right,
    rounding_steps,
    wrap32,
)

int32 = st.integers(-(2**31), 2**31 - 1)
multiplier = st.integers(2**30, 2**31 - 1) | st.just(0)


def half_up(x: Fraction) -> int:
    return (x + Fraction(1, 2)).__floor__()


def half_away(x: Fraction) -> int:
    return half_up(x) if x >= 0 else -half_up(-x)


@given(x=int32, m=multiplier)
def test_doubling_high_multiply_rounds_halves_up(x: int, m: int) -> None:
    assert doubling_high_multiply(x, m) == half_up(Fraction(x * m, 2**31))


@given(x=int32, n=st.integers(0, 31))
def test_rounding_shift_rounds_halves_away_from_zero(x: int, n: int) -> None:
    assert rounding_shift_right(x, n) == half_away(Fraction(x, 2**n))


@given(x=st.integers(-(2**40), 2**40))
def test_wrap32_keeps_the_low_bits(x: int) -> None:
    wrapped = int(wrap32(np.array([x]))[0])
    assert -(2**31) <= wrapped < 2**31
    assert (wrapped - x) % 2**32 == 0


@given(x=int32, m=multiplier, shift=st.integers(-31, 31))
def test_requantize_rounds_twice(x: int, m: int, shift: int) -> None:
    shifted = int(wrap32(np.array([x << max(shift, 0)]))[0])
    high = half_up(Fraction(shifted * m, 2**31))
    assert requantize(x, m, shift) == half_away(Fraction(high, 2 ** max(-shift, 0)))


@given(x=int32, m=st.integers(0, 2**31 - 1), shift=st.integers(-60, -32))
def test_longer_shifts_give_zero(x: int, m: int, shift: int) -> None:
    op = Requantize.checked([m], [shift], 1, zero_point=7, minimum=-128, maximum=127)
    assert op(np.array([x])) == 7 == half_away(Fraction(x * m, 2 ** (31 - shift))) + 7


def test_channels_are_the_last_axis() -> None:
    op = Requantize.checked([1 << 30] * 2, [0, 1], 2, zero_point=-3, minimum=-10, maximum=10)
    assert op(np.array([[4, 4], [-100, 100]])).tolist() == [[-1, 1], [-10, 10]]


@pytest.mark.parametrize(
    ("multipliers", "shifts", "zero_point", "bounds"),
    [
        ([1, 2, 3], [0, 0], 0, (-128, 127)),
        ([-1], [0], 0, (-128, 127)),
        ([1], [32], 0, (-128, 127)),
        ([1], [0], 32641, (-128, 127)),
        ([1], [0], 0, (5, 4)),
        ([1], [0], 0, (-129, 127)),
    ],
)
def test_what_no_kernel_can_take_is_refused(
    multipliers: list[int], shifts: list[int], zero_point: int, bounds: tuple[int, int]
) -> None:
    with pytest.raises(ValueError, match=r"."):
        Requantize.checked(
            multipliers, shifts, 2, zero_point=zero_point, minimum=bounds[0], maximum=bounds[1]
        )


@pytest.mark.parametrize("shift", [-1, -2, -3, -8, 0, 2])
def test_errors_of_both_roundings_are_bounded(shift: int) -> None:
    """Shifts by one or two bits leave more than half a step."""
    chance = np.random.default_rng(shift + 10)
    sums = chance.integers(-4000, 4000, 20_000)
    multipliers = chance.integers(1 << 30, (1 << 31) - 1, 20_000)
    exact = sums * (multipliers / 2.0**31) * 2.0**shift
    largest = float(np.abs(requantize(sums, multipliers, shift) - exact).max())
    bound = rounding_steps([shift])
    assert largest <= bound
    assert largest > 0.95 * bound or bound == ONE_ROUNDING or shift > 0


@pytest.mark.parametrize("shift", [-1, -2, -3, -8])
def test_errors_of_rounded_biases_are_bounded(shift: int) -> None:
    chance = np.random.default_rng(shift + 10)
    multipliers = chance.integers(1 << 30, (1 << 31) - 1, 16)
    rescale = Requantize(tuple(multipliers.tolist()), (shift,) * 16, 0, Range16(-32768, 32767))
    sums, biases = chance.integers(-4000, 4000, (20_000, 16)), chance.uniform(-300, 300, 16)
    biases[:8] = np.rint(biases[:8]) + 0.499
    exact = (sums + biases) * (multipliers / 2.0**31) * 2.0**shift
    largest = float(np.abs(rescale(sums + np.rint(biases).astype(np.int64)) - exact).max())
    assert 0.9 * rescale.error_steps < largest <= rescale.error_steps

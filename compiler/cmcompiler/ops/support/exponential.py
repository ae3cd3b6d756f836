"""Exponential and reciprocal of fixed-point numbers, as gemmlowp and CMSIS-NN compute them.

Source: gemmlowp's fixedpoint.h (exp_on_negative_values, one_over_one_plus_x_for_x_in_0_1). All
numbers are int32; the format is said where it matters.
"""

from __future__ import annotations

INT32_MAX = (1 << 31) - 1
INT32_MIN = -(1 << 31)

FRACTION_BITS = 26
"""Fraction bits of the argument of exp_of_negative by default: five integer bits."""

# exp(-2^k) for k = -2 … 4, of 31 fractional bits.
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_OF_MINUS_EIGHTH = 1895147668
_THIRD = 715827883

# 48/17 and -32/17, of 29 fractional bits: the start of Newton's iteration for a reciprocal.
_RECIPROCAL_START = 1515870810
_RECIPROCAL_SLOPE = -1010580540


def multiply_high(a: int, b: int) -> int:
    """a · b · 2^-31 to the nearest integer, halves away from zero, saturated."""
    if a == b == INT32_MIN:
        return INT32_MAX
    magnitude = (abs(a * b) + (1 << 30)) >> 31
    return magnitude if (a < 0) == (b < 0) else -magnitude


def shift_right(x: int, n: int) -> int:
    """x · 2^-n to the nearest integer, halves away from zero."""
    magnitude = (abs(x) + (1 << (n - 1))) >> n
    return magnitude if x >= 0 else -magnitude


def shift_left(x: int, n: int) -> int:
    """x · 2^n, saturated."""
    return max(INT32_MIN, min(INT32_MAX, x << n))


def exp_of_negative(x: int, bits: int = FRACTION_BITS) -> int:
    """exp(x) of 31 fractional bits, for x ≤ 0 of so many."""
    if x == 0:
        return INT32_MAX
    quarter = 1 << (bits - 2)
    fraction = x % quarter - quarter
    result = _exp_of_quarter(fraction << (31 - bits))
    remainder = fraction - x
    for k, power in enumerate(_POWERS):
        if remainder & (quarter << k):
            result = multiply_high(result, power)
    return result


def _exp_of_quarter(x: int) -> int:
    """exp(x) for x in [-1/4, 0), both of 31 fractional bits: Taylor's series around -1/8."""
    t = x + (1 << 28)
    square = multiply_high(t, t)
    cubes = shift_right(multiply_high(square, square), 2) + multiply_high(square, t)
    series = t + shift_right(multiply_high(cubes, _THIRD) + square, 1)
    return _EXP_OF_MINUS_EIGHTH + multiply_high(_EXP_OF_MINUS_EIGHTH, series)


def reciprocal_of_one_plus(x: int) -> int:
    """1 / (1 + x) for x in [0, 1), both of 31 fractional bits."""
    return shift_left(_twice_reciprocal_of_one_plus(x), 1)


def complement_over_one_plus(x: int) -> int:
    """(1 - x) / (1 + x) for x in [0, 1), both of 31 fractional bits."""
    return shift_left(_twice_reciprocal_of_one_plus(x) - (1 << 29), 2)


def _twice_reciprocal_of_one_plus(x: int) -> int:
    """2 / (1 + x) of 29 fractional bits for x in [0, 1) of 31."""
    half_denominator = (x + INT32_MAX + 1) // 2
    result = _RECIPROCAL_START + multiply_high(half_denominator, _RECIPROCAL_SLOPE)
    for _ in range(3):
        error = (1 << 29) - multiply_high(half_denominator, result)
        result += shift_left(multiply_high(result, error), 2)
    return result

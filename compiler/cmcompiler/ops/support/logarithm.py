"""Logarithm of fixed-point numbers, as TensorFlow Lite computes it."""

from __future__ import annotations

from cmcompiler.ops.support.exponential import reciprocal_of_one_plus, shift_left, shift_right

ARGUMENT_BITS = 19
"""Fractional bits of the argument."""

# With 31 fractional bits: ln 2; the square root of a half and that root's; the series' factors.
_LOG_2 = 1488522236
_ROOT = 1518500250
_ROOT_OF_ROOT = 1805811301
_ALPHA_N = 117049297
_ALPHA_D = 127690142
_ALPHA_I = 1057819769
_ALPHA_F = 638450708

_POWER_BITS = 25
"""Fractional bits of the exponent."""

_QUARTER = 1 << (_POWER_BITS - 2)
_INTEGER_BITS = 31 - ARGUMENT_BITS


def high(a: int, b: int) -> int:
    """a · b · 2^-31 to the nearest integer, halves up."""
    return (a * b + (1 << 30)) >> 31


def logarithm(x: int) -> int:
    """The natural logarithm, with 26 fractional bits, of x ≥ 1 with 19.

    Source: log_x_for_x_greater_than_or_equal_to_1_impl of TensorFlow Lite's common.h. The number is
    a power of two times r; of the two nearest powers, half a step apart, the larger is taken.
    """
    headroom = 31 - x.bit_length()
    first = shift_left(high(shift_left(x, headroom), _ROOT), 1)
    first_power = ((_INTEGER_BITS - 1 - headroom) << _POWER_BITS) + _QUARTER
    headroom = 31 - high(x, _ROOT).bit_length()
    second = shift_left(x, headroom)
    second_power = ((_INTEGER_BITS - headroom) << _POWER_BITS) - _QUARTER
    r, power = min(first, second), max(first_power, second_power)
    p = (r + _ROOT_OF_ROOT + 1) >> 1
    q = 2 * (r - _ROOT_OF_ROOT)
    square = high(q, q)
    numerator = high(q, r) + high(high(q, square), _ALPHA_N)
    denominator = high(p, _ALPHA_I + q + high(_ALPHA_D, square)) + high(_ALPHA_F, q)
    quotient = high(shift_right(numerator, 6), reciprocal_of_one_plus(denominator))
    return shift_left(high(power, _LOG_2) + quotient, 1)

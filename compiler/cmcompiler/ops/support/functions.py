"""Elementary functions in float32, to the bit as cmrt/functions.h computes them.

Every step is one operation on integers, or one addition, multiplication, division or square root
that is rounded to float32 by itself, so that host and device agree to the bit on any core.
Infinities and NaN come and go as in C's functions of the same names; numpy may warn of them.
Relative errors where results are normal numbers: exp, expm1, log, log1p, log2, log10, tanh,
sigmoid, erf, sin, cos, asin, acos and atan2 below 4e-7; tan below 6e-7; sinh, cosh, asinh, acosh
and atanh below 1e-6; erfc below 1e-5, and below 5e-7 up to erfc(2); power below 3e-6 for exponents
up to 16. Angles may be of any size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

ROUNDER = np.float32(3 << 22)
"""Added and taken off again, it rounds numbers below 2^22 to integers, halves to even."""

LOG2_E = np.float32(1.4426950408889634)
LOG10_E = np.float32(0.4342944819032518)
LN2 = np.float32(0.6931471805599453)
# ln 2 in two parts; products of the first with integers below 2^15 are exact.
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.1219444005469057e-4)

SQRT_HALF_BITS = 0x3F3504F3
TWO_OVER_ROOT_PI = 1.1283791670955126

# Highest power first. (exp(r) - 1 - r) / r², Taylor's series in r.
EXP_TAIL = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2)
# 2 · atanh(s) / s - 2, its series in s².
LOG_TAIL = (2 / 9, 2 / 7, 2 / 5, 2 / 3, 0)
# Lambert's continued fraction for tanh(x) / x as a quotient of polynomials in x².
TANH_OVER, TANH_UNDER = (1, 105, 945), (15, 420, 945)
# erf(x) / x, its series in x².
ERF = tuple(TWO_OVER_ROOT_PI / n for n in (-1320, 216, -42, 10, -3, 1))
# erfc(z) · exp(z²) / t in t = 1 / (1 + z / 2), fitted for 0 ≤ z ≤ 10.1 to 6.5e-8.
ERFC = (
    -0.06013317033648491, 0.28956249356269836, -0.49706387519836426, 0.28877490758895874,
    -0.03357178717851639, 0.2054307460784912, 0.24246235191822052, 0.28245607018470764,
    0.2820822298526764,
)  # fmt: skip

PI, HALF_PI, QUARTER_PI = (np.float32(3.141592653589793 / n) for n in (1, 2, 4))
TAN_EIGHTH_PI = np.float32(0.41421356237309503)
# The binary digits of 2 / pi: 32 in front of the point, and 224 after it.
TWO_OVER_PI = np.array(
    [0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB],
    np.uint64,
)
HALF = np.uint64(32)
"""Half of the bits of a product."""
# Taylor's series in x²: (sin(x) / x - 1) / x², (cos(x) - 1) / x² and (atan(x) / x - 1) / x².
SINE = (1 / 362880, -1 / 5040, 1 / 120, -1 / 6)
COSINE = (1 / 40320, -1 / 720, 1 / 24, -1 / 2)
ARC = (-1 / 15, 1 / 13, -1 / 11, 1 / 9, -1 / 7, 1 / 5, -1 / 3)


def exp(x: Floats) -> Floats:
    clamped = np.clip(np.nan_to_num(x), np.float32(-104), np.float32(89))
    steps = _round(clamped * LOG2_E)
    reduced = (clamped - steps * LN2_HIGH) - steps * LN2_LOW
    return np.where(np.isnan(x), x, _exp_scaled(reduced, steps))


def expm1(x: Floats) -> Floats:
    """exp(x) - 1, accurate near zero."""
    near = _polynomial(x, EXP_TAIL) * (x * x) + x
    return np.where(np.abs(x) < np.float32(0.35), near, exp(x) - np.float32(1))


def log(x: Floats) -> Floats:
    exponent, fraction = _split(x)
    result = exponent * LN2_HIGH + (fraction + (exponent * LN2_LOW + _log1p_tail(fraction)))
    finite = np.where(x == 0, np.float32(-np.inf), np.where(x == np.inf, x, result))
    return np.where(np.isnan(x) | (x < 0), np.float32(np.nan), finite)


def log1p(x: Floats) -> Floats:
    """log(1 + x), accurate near zero."""
    is_near = (x > np.float32(-0.29)) & (x < np.float32(0.41))
    return np.where(is_near, x + _log1p_tail(x), log(np.float32(1) + x))


def log2(x: Floats) -> Floats:
    """Whole for powers of two."""
    exponent, fraction = _split(x)
    result = exponent + (fraction + _log1p_tail(fraction)) * LOG2_E
    return np.where(np.isfinite(x) & (x > 0), result, log(x))


def log10(x: Floats) -> Floats:
    return log(x) * LOG10_E


def sinh(x: Floats) -> Floats:
    size = np.abs(x)
    above = expm1(size)
    near = (above + above / (above + np.float32(1))) * np.float32(0.5)
    rising, falling = _halves(size)
    return np.copysign(np.where(size < np.float32(1), near, rising - falling), x)


def cosh(x: Floats) -> Floats:
    rising, falling = _halves(np.abs(x))
    return rising + falling


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """exp(x) / 2 and exp(-x) / 2 for x ≥ 0; the first overflows no earlier than it must."""
    root = exp(x * np.float32(0.5))
    return (root * np.float32(0.5)) * root, np.float32(0.5) / (root * root)


LARGE = np.float32(1e4)
"""From here on, √(x² + 1) and √(x² - 1) are x."""


def asinh(x: Floats) -> Floats:
    size = np.abs(x)
    square = size * size
    near = log1p(size + square / (np.sqrt(square + np.float32(1)) + np.float32(1)))
    return np.copysign(np.where(size < LARGE, near, log(size) + LN2), x)


def acosh(x: Floats) -> Floats:
    above = x - np.float32(1)
    near = log1p(above + np.sqrt(above * (x + np.float32(1))))
    result = np.where(x < LARGE, near, log(x) + LN2)
    return np.where(x < 1, np.float32(np.nan), result)


def atanh(x: Floats) -> Floats:
    size = np.abs(x)
    return np.copysign(log1p((size + size) / (np.float32(1) - size)) * np.float32(0.5), x)


def tanh(x: Floats) -> Floats:
    size = np.abs(x)
    square = np.minimum(size, np.float32(1)) * np.minimum(size, np.float32(1))
    near = x * _polynomial(square, TANH_OVER) / _polynomial(square, TANH_UNDER)
    far = np.float32(1) - np.float32(2) / (exp(size + size) + np.float32(1))
    return np.where(size < np.float32(0.5), near, np.copysign(far, x))


def sigmoid(x: Floats) -> Floats:
    return np.float32(1) / (exp(-x) + np.float32(1))


def erf(x: Floats) -> Floats:
    size = np.abs(x)
    far = np.copysign(np.float32(1) - erfc(size), x)
    return np.where(size < np.float32(0.5), x * _polynomial(x * x, ERF), far)


def erfc(x: Floats) -> Floats:
    """1 - erf(x), accurate where it is small."""
    size = np.minimum(np.abs(x), np.float32(10.5))
    t = np.float32(1) / (size * np.float32(0.5) + np.float32(1))
    positive = _polynomial(t, ERFC) * t * exp(-(size * size))
    return np.where(x < 0, np.float32(2) - positive, positive)


def power(x: Floats, y: Floats) -> Floats:
    """x to the y; zeros, infinities, NaN and negative x as C's powf has them."""
    size, infinity = np.abs(x), np.float32(np.inf)
    is_limit = (size == 0) | np.isinf(x) | np.isinf(y)
    is_large = (size > 1) == (y > 0)
    limit = np.where(size == 1, np.float32(1), np.where(is_large, infinity, np.float32(0)))
    magnitude = np.where(is_limit, limit, _power(size, y))
    half = y * np.float32(0.5)
    is_whole, is_odd = np.floor(y) == y, (np.floor(y) == y) & (np.floor(half) != half)
    signed = np.where(np.signbit(x) & is_odd & np.isfinite(y), -magnitude, magnitude)
    nan = np.isnan(x) | np.isnan(y) | ((x < 0) & ~is_whole & np.isfinite(x))
    return np.where((y == 0) | (x == 1), np.float32(1), np.where(nan, np.float32(np.nan), signed))


def _power(x: Floats, y: Floats) -> Floats:
    """For finite x > 0 and finite y."""
    exponent, fraction = _split(x)
    binary = (fraction + _log1p_tail(fraction)) * LOG2_E
    bounded = np.clip(np.nan_to_num(y), np.float32(-1e10), np.float32(1e10))
    # The upper and the lower half of the mantissa: their products with the exponent are exact.
    upper = (bounded.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
    high, low = upper * exponent, (bounded - upper) * exponent + bounded * binary
    total = np.clip(high + low, np.float32(-160), np.float32(160))
    steps = _round(total)
    reduced = ((high - steps) + low) * LN2
    result = _exp_scaled(np.clip(reduced, np.float32(-1), np.float32(1)), steps)
    return np.select([total > 129, total < -151], [np.float32(np.inf), np.float32(0)], result)


def sin(x: Floats) -> Floats:
    sine = _wave(*_quarters(np.abs(x)))
    return np.where(np.signbit(x), -sine, sine)


def cos(x: Floats) -> Floats:
    quarters, rest = _quarters(np.abs(x))
    return _wave(quarters + np.uint64(1), rest)


def tan(x: Floats) -> Floats:
    quarters, rest = _quarters(np.abs(x))
    slope = _wave(quarters, rest) / _wave(quarters + np.uint64(1), rest)
    return np.where(np.signbit(x), -slope, slope)


def _quarters(x: Floats) -> tuple[npt.NDArray[np.uint64], Floats]:
    """q and r with x = (q + 4 · n) · pi / 2 + r for x ≥ 0, r from -pi / 4 to pi / 4.

    Of the product of x with 2 / pi, only the digits are computed that neither add up to multiples
    of four nor lie below 2^-62 (Payne and Hanek's reduction): the product of the mantissa with 96
    digits of 2 / pi.
    """
    is_far = np.isfinite(x) & (x >= QUARTER_PI)
    bits = np.where(is_far, x, np.float32(1)).view(np.uint32).astype(np.uint64)
    mantissa = bits & np.uint64(0x7FFFFF) | np.uint64(0x800000)
    start = (bits >> np.uint64(23)) - np.uint64(120)
    word, shift = start // np.uint64(32), np.uint64(32) - start % np.uint64(32)

    def digits(i: int) -> npt.NDArray[np.uint64]:
        pair = TWO_OVER_PI[word + np.uint64(i)] << HALF | TWO_OVER_PI[word + np.uint64(i + 1)]
        bits: npt.NDArray[np.uint64] = pair >> shift & np.uint64(0xFFFFFFFF)
        return bits

    product = (mantissa * digits(0) << HALF) + mantissa * digits(1) + (mantissa * digits(2) >> HALF)
    quarters = (product + np.uint64(1 << 61)) >> np.uint64(62)
    rest = (product - (quarters << np.uint64(62))).view(np.int64).astype(np.float32)
    near = np.where(np.isfinite(x), x, np.float32(np.nan))
    angle = np.where(is_far, rest * (HALF_PI * np.float32(2.0**-62)), near)
    return np.where(is_far, quarters, np.uint64(0)), angle


def _wave(quarters: npt.NDArray[np.uint64], rest: Floats) -> Floats:
    """sin(quarters · pi / 2 + rest)."""
    square = rest * rest
    sine = rest + rest * square * _polynomial(square, SINE)
    cosine = np.float32(1) + square * _polynomial(square, COSINE)
    size = np.where(quarters & np.uint64(1), cosine, sine)
    return np.where(quarters & np.uint64(2), -size, size)


def atan2(y: Floats, x: Floats) -> Floats:
    """The angle of the point (x, y)."""
    across, up = np.abs(x), np.abs(y)
    slope = np.minimum(across, up) / np.maximum(across, up)
    is_steep = slope > TAN_EIGHTH_PI
    turned = (np.float32(1) - slope) / (np.float32(1) + slope)
    small = np.where(is_steep, turned, slope)
    square = small * small
    arc = small + small * square * _polynomial(square, ARC)
    turn = np.where(is_steep, QUARTER_PI - arc, arc)
    turn = np.where(up > across, HALF_PI - turn, turn)
    level = np.where(across == 0, np.float32(0), QUARTER_PI)
    turn = np.where(across == up, level, turn)
    return np.copysign(np.where(np.signbit(x), PI - turn, turn), y)


def atan(x: Floats) -> Floats:
    return atan2(x, np.ones_like(x))


def asin(x: Floats) -> Floats:
    return atan2(x, _chord(x))


def acos(x: Floats) -> Floats:
    return atan2(_chord(x), x)


def _chord(x: Floats) -> Floats:
    """√(1 - x²)."""
    return np.sqrt((np.float32(1) - x) * (np.float32(1) + x))


def _exp_scaled(reduced: Floats, steps: Floats) -> Floats:
    """exp(reduced) · 2^steps, in two steps so that a subnormal result is rounded once."""
    base = (_polynomial(reduced, EXP_TAIL) * (reduced * reduced) + reduced) + np.float32(1)
    whole = steps.astype(np.int32)
    half = whole >> 1
    return base * _power_of_two(half) * _power_of_two(whole - half)


def _power_of_two(exponent: npt.NDArray[np.int32]) -> Floats:
    bits: npt.NDArray[np.int32] = (exponent + 127) << 23
    return bits.view(np.float32)


def _split(x: Floats) -> tuple[Floats, Floats]:
    """e and f with x = 2^e · (1 + f), 1 + f from √½ to √2, for finite x > 0."""
    is_subnormal = x < np.float32(2.0**-126)
    scaled = x * np.where(is_subnormal, np.float32(2.0**25), np.float32(1))
    bits = np.array(scaled, order="C").view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    mantissa = (bits - (exponent << 23)).view(np.float32)
    exponent = exponent - np.where(is_subnormal, np.int32(25), np.int32(0))
    return exponent.astype(np.float32), mantissa - np.float32(1)


def _log1p_tail(fraction: Floats) -> Floats:
    """log(1 + f) - f; with s = f / (2 + f), log(1 + f) is 2 · atanh(s) and f - s · f is 2 · s."""
    s = fraction / (fraction + np.float32(2))
    tail: Floats = s * (_polynomial(s * s, LOG_TAIL) - fraction)
    return tail


def _round(x: Floats) -> Floats:
    return (x + ROUNDER) - ROUNDER


def _polynomial(x: Floats, coefficients: Sequence[float]) -> Floats:
    """Horner's rule; the first coefficient is that of the highest power."""
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + np.float32(coefficient)
    return result

"""Exponential, logarithm and their kin in float32, to the bit as cmrt/functions.h computes them.

Every step is one addition, multiplication or division, rounded to float32 by itself, so that host
and device agree to the bit on any core. Infinities and NaN come and go as in C's functions of the
same names; numpy may warn of them. Relative errors where results are normal numbers: exp, expm1,
log, log1p, log2, log10, tanh, sigmoid and erf below 4e-7; sinh, cosh, asinh, acosh and atanh below
1e-6; erfc below 1e-5, and below 5e-7 up to erfc(2); power
below 3e-6 for exponents up to 16.
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

"""Reciprocals of square roots of integers, bit for bit as in cmrt/norm.h."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.parameters import INT32_MAX
from cmcompiler.ops.support.requantize import doubling_high_multiply

LARGEST = (1 << 62) - 1

MANTISSA_BITS = 31

# The line 1.0664 - 0.15235 · x, of 31 and 32 fractional bits, is within 9 % of 1 / √x in [1, 4).
# Each step of Newton's iteration squares the error: three leave 2^-24.
_START = 2290114200
_SLOPE = 654338232
_STEPS = 3


def inverse_square_root(x: int) -> tuple[int, int]:
    """1 / √x as mantissa · 2^-(31 + exponent), for 1 ≤ x ≤ LARGEST.

    The exponent is half that of the largest power of 4 up to x; the mantissa is in [2^30, 2^31).
    """
    exponent = (x.bit_length() - 1) // 2
    spare = 30 - 2 * exponent
    # In [1, 4), of 30 fractional bits.
    scaled = x << spare if spare >= 0 else x >> -spare
    root = _START - (scaled * _SLOPE >> 31)
    for _ in range(_STEPS):
        square = root * root >> 31
        product = square * scaled >> 30
        root = root * ((3 << 31) - product >> 1) >> 31
    return min(max(root, 1 << 30), (1 << 31) - 1), exponent


def inverse_square_roots(
    x: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Mantissas and exponents of inverse_square_root for each element."""
    exponents = (bit_lengths(x) - 1) // 2
    spare = 30 - 2 * exponents
    scaled = np.where(spare >= 0, x << np.maximum(spare, 0), x >> np.maximum(-spare, 0))
    # No product leaves 64 bits without a sign.
    scaled = scaled.astype(np.uint64)
    root = np.uint64(_START) - (scaled * np.uint64(_SLOPE) >> np.uint64(31))
    for _ in range(_STEPS):
        square = root * root >> np.uint64(31)
        product = square * scaled >> np.uint64(30)
        root = root * (np.uint64(3 << 31) - product >> np.uint64(1)) >> np.uint64(31)
    return np.clip(root.astype(np.int64), 1 << 30, (1 << 31) - 1), exponents


def scaled_roots(x: npt.NDArray[np.int64], multiplier: int, shift: int) -> npt.NDArray[np.int64]:
    """√x · multiplier · 2^(shift - 31), halves up; INT32_MAX for what is larger.

    Args:
        x: 0 to LARGEST.
    """
    known = np.maximum(x, 1)
    mantissas, halved = inverse_square_roots(known)
    # 31 bits of it.
    exponents = bit_lengths(known) - 31
    leading = np.where(
        exponents >= 0, known >> np.maximum(exponents, 0), known << np.maximum(-exponents, 0)
    )
    roots = doubling_high_multiply(leading, mantissas).astype(np.int64)
    products = doubling_high_multiply(roots, multiplier).astype(np.int64)
    right = -(exponents - halved) - shift
    kept = np.clip(right, 1, 31)
    steps = (products + (np.int64(1) << (kept - 1))) >> kept
    steps = np.where(right > 31, 0, np.where(right <= 0, INT32_MAX, steps))
    return np.where((x == 0) | (products == 0), 0, steps)


def bit_lengths(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits that each number ≥ 0 has; 0 of 0."""
    high, low = x >> 31, x & ((1 << 31) - 1)
    lengths = (np.frexp(high.astype(np.float64))[1], np.frexp(low.astype(np.float64))[1])
    return np.where(high > 0, lengths[0] + 31, lengths[1]).astype(np.int64)

"""Functions of two int64 arrays that wrap where they overflow and are defined everywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


def quotient(a: Int64Array, b: Int64Array) -> Int64Array:
    """Towards zero; x / 0 is 0."""
    return floor_quotient(a, b) + _rounds_down(a, b)


def floor_quotient(a: Int64Array, b: Int64Array) -> Int64Array:
    """Towards minus infinity; x / 0 is 0."""
    safe = np.where((b == 0) | (b == -1), 1, b)
    return np.where(b == 0, 0, np.where(b == -1, -a, a // safe))


def rest(a: Int64Array, b: Int64Array) -> Int64Array:
    """Rest of the quotient towards zero; x % 0 is 0."""
    return np.where(b == 0, 0, a - quotient(a, b) * b)


def floor_rest(a: Int64Array, b: Int64Array) -> Int64Array:
    """Rest of the quotient towards minus infinity; x % 0 is 0."""
    return np.where(b == 0, 0, a - floor_quotient(a, b) * b)


def _rounds_down(a: Int64Array, b: Int64Array) -> npt.NDArray[np.bool_]:
    inexact = floor_rest(a, b) != 0
    result: npt.NDArray[np.bool_] = inexact & ((a < 0) != (b < 0))
    return result


def power(base: Int64Array, exponent: Int64Array) -> Int64Array:
    """Modulo 2^64; towards zero if the exponent is negative."""
    base, exponent = np.broadcast_arrays(base, exponent)
    odd = np.where(exponent % 2 == 0, 1, -1)
    negative = np.where(base == 1, 1, np.where(base == -1, odd, 0))
    result, square, left = np.ones_like(base), base.copy(), np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, result * square, result)
        square, left = square * square, left >> 1
    return np.where(exponent < 0, negative, result)


def shift_left(a: Int64Array, n: Int64Array) -> Int64Array:
    """0 where n is no number of bits below 64."""
    inside = (n >= 0) & (n < 64)
    return np.where(inside, a << np.where(inside, n, 0), 0)


def shift_right(a: Int64Array, n: Int64Array) -> Int64Array:
    """Shifts a signed number; by 63 where n is no number of bits below 64."""
    return np.right_shift(a, np.where((n >= 0) & (n < 64), n, 63))

"""Divisions of two bytes as products with a factor and a shift for each divisor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.parameters import INT8

MOST_DIVIDEND = 255
"""Steps of a dividend from 0 at most."""

_FACTOR_BITS = 22
"""Products with dividends then fit 30 bits."""

_MOST_SHIFT = 31

Int64s = npt.NDArray[np.int64]


def divisor_factors(
    results: Int64s, dividends: Int64s, zero_point: int, slopes: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32] | None:
    """Words that hold 2^8 · factor + (-shift & 255), by which a division is

        clamp(((dividend · factor + 2^(shift - 1)) >> shift) + zero_point)

    Args:
        results: int8 numbers for each divisor, a row, and dividend.
        dividends: as they are multiplied.
        slopes: near the quotient of 1 and each divisor, in steps of the output.

    Returns:
        None if a divisor has no such factor: halves that are exact go to even.
    """
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(np.abs(slopes)))
    shifts = np.clip(_FACTOR_BITS - 1 - exponents, 1, _MOST_SHIFT).astype(np.int64)
    least, most = _bounds(results, dividends, zero_point, shifts)
    limit = 1 << _FACTOR_BITS
    near = np.clip(np.rint(np.ldexp(slopes, shifts)), -limit, limit).astype(np.int64)
    factors = np.clip(near, least, most)
    if np.any(least > most) or np.any(np.abs(factors) > limit):
        return None
    words: npt.NDArray[np.int32] = (factors << 8 | -shifts & 255).astype(np.int32)
    return words


def _bounds(
    results: Int64s, dividends: Int64s, zero_point: int, shifts: Int64s
) -> tuple[Int64s, Int64s]:
    """The least and largest factor of each divisor that gives the results of all dividends."""
    unit = (np.int64(1) << shifts)[:, None]
    steps = results - zero_point
    far = np.int64(1) << 60
    # least ≤ dividend · factor ≤ most, with no bound where the result is an end of int8.
    least = np.where(results == INT8.minimum, -far, steps * unit - unit // 2)
    most = np.where(results == INT8.maximum, far, (steps + 1) * unit - unit // 2 - 1)
    size = np.maximum(np.abs(dividends), 1)
    is_negative = dividends < 0
    low, high = np.where(is_negative, -most, least), np.where(is_negative, -least, most)
    # Every factor makes 0 of the dividend 0.
    is_zero = dividends == 0
    low = np.where(is_zero, -far, -(-low // size))
    high = np.where(is_zero, far, high // size)
    return low.max(axis=1), high.min(axis=1)

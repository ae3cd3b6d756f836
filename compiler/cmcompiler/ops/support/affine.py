"""Functions of two int8 numbers as one multiply-add each, proven over all pairs of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.requantize import Range

EVERY = np.arange(-128, 128, dtype=np.int8)
"""All int8 numbers."""

_NUMBERS = EVERY.astype(np.int64)
_LARGEST = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Affine:
    """clamp((lhs · lhs_factor + rhs · rhs_factor + offset) >> shift), all within 32 bits."""

    lhs_factor: int
    rhs_factor: int
    offset: int
    shift: int


def find_affine(
    table: npt.NDArray[np.int8], lhs_slope: float, rhs_slope: float, limits: Range
) -> Affine | None:
    """The affine function that equals a table in all its entries, or None if none is found.

    Args:
        table: [256, 256] results for all pairs in the order of EVERY, clamped to `limits`.
        lhs_slope, rhs_slope: what the results rise by with each operand, before they are rounded.

    Rounded results of other arithmetic lie within a hair of the straight line, so that an offset
    which passes between all of them is likely to exist for factors of 20 bits and more. Halves that
    are rounded away from zero want factors that are a little too large.
    """
    steepness = max(abs(lhs_slope), abs(rhs_slope))
    if steepness == 0 or not math.isfinite(steepness):
        return None
    finest = min(30, 23 - math.frexp(abs(lhs_slope) + abs(rhs_slope))[1])
    for shift in range(finest, max(finest - 4, 0), -1):
        for lhs_factor, rhs_factor in _factors(
            math.ldexp(lhs_slope, shift), math.ldexp(rhs_slope, shift)
        ):
            offset = _offset(table, lhs_factor, rhs_factor, shift, limits)
            if offset is not None:
                return Affine(lhs_factor, rhs_factor, offset, shift)
    return None


def _factors(lhs: float, rhs: float) -> Iterator[tuple[int, int]]:
    """Integers near two factors: their neighbours, then both enlarged in proportion."""
    for i in (0, 1, -1):
        for j in (0, 1, -1):
            yield round(lhs) + i, round(rhs) + j
    steepness = max(abs(lhs), abs(rhs))
    for enlarged in range(2, 9):
        yield (
            round(lhs) + round(enlarged * lhs / steepness),
            round(rhs) + round(enlarged * rhs / steepness),
        )


def _offset(
    table: npt.NDArray[np.int8], lhs_factor: int, rhs_factor: int, shift: int, limits: Range
) -> int | None:
    """An offset with which these factors give the table, or None."""
    sums = lhs_factor * _NUMBERS[:, None] + rhs_factor * _NUMBERS
    least = (table.astype(np.int64) << shift) - sums
    above, below = least[table > limits.minimum], least[table < limits.maximum]
    low = max(int(above.max(initial=-_LARGEST)), -_LARGEST - int(sums.min()))
    high = min(int(below.min(initial=_LARGEST)) + (1 << shift) - 1, _LARGEST - int(sums.max()))
    return (low + high) // 2 if low <= high else None

"""Depthwise convolutions of one tap, as batch norms are, by one multiply-add for each element."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.depthwise_schemes import MOST_ROW_WEIGHTS, Scheme
from cmcompiler.ops.support.requantize import Int8Array, Requantize

AFFINE = Microkernel("depthwise_affine_s8", mve=True)

SHIFT = 21
"""CM_AFFINE_SHIFT of cmrt/isa.h: bits that results are shifted to the right."""

HALVES = (1 << 20) + (1 << 15)
"""What Helium's shifts, by 16 and by 5, add before them as they round."""

_LARGEST = (1 << 31) - 1
_LEAST = HALVES - _LARGEST
_CHANGES = (0, *(sign * change for change in range(1, 9) for sign in (1, -1)))
"""What factors are changed by until an offset suits."""

_ORDER = np.array([4 * i + first for first in (0, 2, 1, 3) for i in range(4)])
"""Channels of a block as the vectors that Helium widens sixteen bytes to have them."""


@dataclass(frozen=True, eq=False, slots=True)
class ChannelAffine:
    """clamp((x · factor + offset) >> SHIFT) of each channel, all within 32 bits.

    Attributes:
        factors, offsets: int32 [channels].
    """

    factors: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int32]


def find_affine(
    table: Int8Array, weights: Int8Array, requantize: Requantize
) -> ChannelAffine | None:
    """The functions that equal a table in all its entries, or None if none are found.

    Args:
        table: [256, channels] results for all inputs in the order of EVERY.
        weights: of each channel, whose products are rescaled.
    """
    limits = requantize.range
    scales = np.ldexp(requantize.multipliers, np.array(requantize.shifts) - 31)
    slopes = scales * weights
    nearest = np.rint(np.ldexp(slopes, SHIFT))
    if not np.all(np.abs(nearest) * 128 < _LARGEST):
        return None
    factors, offsets = np.zeros((2, len(slopes)), np.int64)
    missing = np.ones(len(slopes), np.bool_)
    for change in _CHANGES:
        tried = nearest.astype(np.int64) + change
        sums = tried * EVERY.astype(np.int64)[:, None]
        least = (table.astype(np.int64) << SHIFT) - sums
        low = np.where(table > limits.minimum, least, _LEAST).max(0)
        high = np.where(table < limits.maximum, least, _LARGEST).min(0) + (1 << SHIFT) - 1
        low = np.maximum(low, _LEAST - sums.min(0))
        high = np.minimum(high, _LARGEST - sums.max(0))
        suits = missing & (low <= high)
        factors[suits], offsets[suits] = tried[suits], ((low + high) // 2)[suits]
        missing &= ~suits
    if missing.any():
        return None
    return ChannelAffine(factors.astype(np.int32), offsets.astype(np.int32))


def choose(function: ChannelAffine, columns: int, isa: Isa) -> Scheme | None:
    """The way to compute rows of such functions; None where others take fewer instructions.

    Args:
        columns: of a row.
    """
    if isa is Isa.DSP:  # two elements at a time
        return None
    weights = _by_lane(function) if isa is Isa.MVE else _by_channel(function)
    if isa is Isa.MVE and len(weights) > MOST_ROW_WEIGHTS:
        return None
    return Scheme("depthwise_conv2d_affine", AFFINE, weights, 1, columns, 0)


def _by_channel(function: ChannelAffine) -> bytes:
    return np.stack([function.factors, function.offsets], 1).astype("<i4").tobytes()


def _by_lane(function: ChannelAffine) -> bytes:
    """The number of bytes, then factors and offsets of blocks of sixteen elements that follow each
    other in a row, until one begins with the first channel again.
    """
    channels = len(function.factors)
    elements = np.arange(math.lcm(channels, 16)).reshape(-1, 16)[:, _ORDER] % channels
    pairs = (function.factors[elements], function.offsets[elements] - HALVES)
    blocks: npt.NDArray[np.int32] = np.stack([each.reshape(-1, 4, 4) for each in pairs], 2)
    size = np.array([blocks.nbytes, 0, 0, 0], "<i4")
    return size.tobytes() + blocks.astype("<i4").tobytes()

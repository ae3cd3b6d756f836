"""Weights of depthwise convolutions as the microkernels for one size of windows read them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import Array
from cmcompiler.ops.support.filters import Filters, once
from cmcompiler.ops.support.packing16 import between_zeros, in_pairs

Bytes: TypeAlias = npt.NDArray[np.uint8]


@once
def pack_3x3_dsp(filters: Filters) -> bytes:
    """Per channel: pairs of weights; bias; the rescaling."""
    pairs = in_pairs(filters.weights)
    bias = filters.bias.astype("<i4")[:, np.newaxis]
    parts = (pairs, bias, filters.factors.astype("<i4"))
    return np.hstack([bytes_of(part) for part in parts]).tobytes()


@once
def pack_3x3_apart(filters: Filters) -> bytes:
    """Per channel: rows 0 and 1 of each column, row 2 and a zero, bias, and the rescaling."""
    kernels = filters.weights.reshape(-1, 3, 3).astype("<i2")
    upper = kernels[:, :2].transpose(0, 2, 1).reshape(-1, 6)
    lower = np.pad(kernels[:, 2], ((0, 0), (0, 1)))
    bias = filters.bias.astype("<i4")[:, np.newaxis]
    parts = (upper, lower, bias, filters.factors.astype("<i4"))
    return np.hstack([bytes_of(part) for part in parts]).tobytes()


@once
def pack_fours(filters: Filters) -> bytes:
    """Per four channels, the last ones of which may be some of the four before.

    Biases; of each two taps two channels, then the others; multipliers and factors, or shifts of
    fewer channels.
    """
    channels, area = filters.weights.shape
    scales = filters.factors if channels >= 4 else filters.head[1:].T
    blocks = []
    for first in range(0, channels, 4):
        four = np.minimum(np.arange(4) + max(min(first, channels - 4), 0), channels - 1)
        part = np.pad(filters.weights[four], ((0, 0), (0, area % 2)))
        taps = part.reshape(2, 2, -1, 2).transpose(2, 0, 3, 1)
        blocks.append(filters.bias[four].astype("<i4").tobytes() + taps.tobytes())
        blocks.append(scales[four].T.astype("<i4").tobytes())
    return b"".join(blocks)


@once
def pack_3x3_mve(filters: Filters) -> bytes:
    """16 zeros, then 32 bytes per channel.

    The kernel's columns between two zero ones, each of three rows and a zero; then the tail.
    """
    return bytes(16) + np.hstack([between_zeros(filters.weights), _tail(filters)]).tobytes()


@once
def pack_5x5_mve(filters: Filters) -> bytes:
    """64 bytes per channel.

    Rows 0 to 3 of columns 0 to 3, rows 1 to 4 of them, the same two of column 4 and eight zeros;
    the tail and a word that is not used.
    """
    channels = len(filters.bias)
    columns = filters.weights.reshape(channels, 5, 5).transpose(0, 2, 1)
    upper, lower = columns[:, :, :4], columns[:, :, 1:]
    last = np.stack([upper[:, 4], lower[:, 4]], axis=1)
    parts = [bytes_of(part) for part in (upper[:, :4], lower[:, :4], last)]
    zeros = np.zeros((channels, 8), np.uint8)
    return np.hstack([*parts, zeros, _tail(filters), zeros[:, :4]]).tobytes()


@once
def pack_long_mve(filters: Filters) -> bytes:
    """32 bytes per channel: three zeros, up to 13 weights, zeros up to 20 bytes; then the tail."""
    taps = filters.weights.shape[1]
    weights = np.pad(filters.weights, ((0, 0), (3, 17 - taps)))
    return np.hstack([bytes_of(weights), _tail(filters)]).tobytes()


def _tail(filters: Filters) -> Bytes:
    """Bias, multiplier; as bytes the shift and three zeros: the 3x3 kernel multiplies the last."""
    shifts = np.pad(filters.shifts.astype(np.int8)[:, np.newaxis], ((0, 0), (0, 3)))
    return np.hstack([bytes_of(filters.head[:2].T), bytes_of(shifts)])


def bytes_of(rows: Array) -> Bytes:
    """The bytes of each row."""
    return np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.uint8)

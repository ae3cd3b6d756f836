"""How large the sums of a bank of filters can be, over all raw int8 inputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.requantize import Int8Array, Int32Array


def largest_sums(weights: Int8Array, bias: Int32Array) -> npt.NDArray[np.int64]:
    """The largest magnitude that the sum of each channel may have."""
    magnitudes: npt.NDArray[np.int64] = np.abs(weights.astype(np.int64)).sum(axis=1)
    largest: npt.NDArray[np.int64] = 128 * magnitudes + np.abs(bias.astype(np.int64))
    return largest


def sum_bounds(
    weights: Int8Array, bias: Int32Array
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The least and largest sum of each channel."""
    wide = weights.astype(np.int64)
    above, below = np.maximum(wide, 0).sum(axis=1), np.minimum(wide, 0).sum(axis=1)
    centre = bias.astype(np.int64)
    return centre + 127 * below - 128 * above, centre + 127 * above - 128 * below

"""Windows of three rows, each of one byte more than whole words: those of 3×3 kernels over three
channels.
"""

from __future__ import annotations

import numpy as np

from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.requantize import Int8Array

ODD_GEMM = Microkernel("gemm_s8_odd", dsp=True, mve=True)
"""Packs windows for one of packing.GEMMS, which multiplies them."""

ROWS = 3


def are_odd(weights: Int8Array) -> bool:
    """
    Args:
        weights: [C_out, kernel height, kernel width, C_in].
    """
    _, height, width, channels = weights.shape
    return bool(height == ROWS and width * channels % 4 == 1)


def ordered(weights: Int8Array) -> Int8Array:
    """Filters whose depths are the rows' words, then their last bytes: cm_isa_gemm_s8_odd."""
    rows = weights.reshape(len(weights), ROWS, -1)
    return np.concatenate([rows[..., :-1].reshape(len(rows), -1), rows[..., -1]], axis=1)

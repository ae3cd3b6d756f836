"""Windows above or below an image, whose products leave out the padding: with Helium."""

from __future__ import annotations

from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.window import Window

CUT_GEMM = Microkernel("gemm_s8_cut", mve=True)
NARROW_CUT_GEMM = Microkernel("gemm_s8_w4_cut", mve=True)
CUT_GEMM16 = Microkernel("gemm_s16_cut", mve=True)

CHUNK = 16
"""Bytes of a vector."""

MOST_CHUNKS = 32
"""Of a window without the padding."""

MOST_COUNTED = 0xFFF0
"""Windows in a row, and bytes from one window's outputs to the next's."""


def are_cut(window: Window, images: Tensor, outputs: tuple[int, ...], output: Tensor) -> bool:
    """Whether strips of windows are multiplied without the rows of them that cross a side.

    One row of a window at least lies outside of the image: cm_cut_suits of cmrt/isa.h.

    Args:
        outputs: the shape of what is computed, which may be every second pixel of `output`.
    """
    _, height, width, channels = outputs
    end = (height - 1) * window.stride[0] - window.padding[0] + window.kernel[0]
    crosses = window.padding[0] > 0 or end > images.shape[1]
    chunks, rest = divmod(images.shape[3] * images.dtype.itemsize, CHUNK)
    chunks *= window.kernel[0] - 1
    suits = rest == 0 and chunks % 2 == 0 and 0 < window.kernel[1] * chunks <= MOST_CHUNKS
    is_even = width % 2 == 0 and channels % 4 == 0 and window.kernel[1] > 1
    distance = -(-output.shape[2] // width) * channels * output.dtype.itemsize
    is_counted = max(width, distance) <= MOST_COUNTED
    return crosses and suits and is_even and is_counted

"""Windows above or below an image, whose products leave out the padding: with Helium."""

from __future__ import annotations

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.window import Window

CUT_GEMM = Microkernel("gemm_s8_cut", mve=True)

CHUNK = 16
"""Bytes of a vector."""

MOST_CHUNKS = 32
"""Of a window without the padding."""


def are_cut(
    filters: Filters, window: Window, images: tuple[int, ...], outputs: tuple[int, ...]
) -> bool:
    """Whether strips of windows are multiplied by cm_isa_gemm_s8_cut where they cross a side.

    One row of a window at least lies outside of the image: cm_cut_suits of cmrt/isa.h.
    """
    has_loop = not filters.is_narrow and not filters.is_general(Isa.MVE)
    end = (outputs[1] - 1) * window.stride[0] - window.padding[0] + window.kernel[0]
    crosses = window.padding[0] > 0 or end > images[1]
    chunks, rest = divmod(images[3], CHUNK)
    chunks *= window.kernel[0] - 1
    suits = rest == 0 and chunks % 2 == 0 and 0 < window.kernel[1] * chunks <= MOST_CHUNKS
    is_even = outputs[2] % 2 == 0 and outputs[3] % 4 == 0 and window.kernel[1] > 1
    return has_loop and crosses and suits and is_even

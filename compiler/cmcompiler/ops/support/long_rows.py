"""Products of one long row by few columns: in portions with DSP, by fours with Helium."""

from __future__ import annotations

from cmcompiler.isa import Isa
from cmcompiler.ops.support.packing import GEMV, gemv_workspace

LONG_DEPTH, PORTION, FEW_COLUMNS = 2048, 1024, 64
"""As in runtime/isa/dsp/gemv_s8.c: which rows are widened in portions, and of what size."""

_WASTED_BYTES = 8192


def suits_several_rows(columns: int, depth: int, isa: Isa) -> bool:
    """Whether zeros that fill up cm_isa_gemv_s8's eight columns are so many bytes that the product
    of several rows, whose blocks have four, is better.
    """
    spare = -columns % 8 - -columns % 4
    return GEMV.provider(isa) is Isa.MVE and spare * depth >= _WASTED_BYTES


def workspace(columns: int, depth: int, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemv_s8 needs for so many columns."""
    if GEMV.provider(isa) is not Isa.DSP or depth < LONG_DEPTH or columns > FEW_COLUMNS:
        return gemv_workspace(depth, isa)
    # Sums of fours of columns, then a portion of the row behind its sum.
    return -(-columns // 4) * 16 + 4 + 2 * PORTION

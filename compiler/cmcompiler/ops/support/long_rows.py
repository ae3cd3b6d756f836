"""Products of one long row by few columns: in portions with DSP, by fours with Helium."""

from __future__ import annotations

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.packing import GEMV

LONG_GEMV = Microkernel("gemv_s8_long", dsp=True, mve=True)

PORTION = 1024
"""As in runtime/isa/dsp/gemv_s8_long.c."""

_LONG_DEPTH, _FEW_COLUMNS = 2048, 64

_WASTED_BYTES = 8192


def suits_several_rows(columns: int, depth: int, isa: Isa) -> bool:
    """Whether zeros that fill up cm_isa_gemv_s8's eight columns are so many bytes that the product
    of several rows, whose blocks have four, is better.
    """
    spare = -columns % 8 - -columns % 4
    return GEMV.provider(isa) is Isa.MVE and spare * depth >= _WASTED_BYTES


def takes_portions(columns: int, depth: int, isa: Isa) -> bool:
    """Whether cm_isa_gemv_s8_long is worth its code: a row is widened with DSP alone."""
    return GEMV.provider(isa) is Isa.DSP and depth >= _LONG_DEPTH and columns <= _FEW_COLUMNS


def workspace(columns: int) -> int:
    """Bytes of workspace that cm_isa_gemv_s8_long needs for so many columns."""
    # Sums of fours of columns, then a portion of the row behind its sum.
    return -(-columns // 4) * 16 + 4 + 2 * PORTION

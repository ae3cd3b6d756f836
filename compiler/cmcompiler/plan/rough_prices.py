"""Prices of steps whose instructions are not counted; they need no operator to be loaded."""

from __future__ import annotations

from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa

_INTEGER = {
    Isa.SCALAR: Work(macs=2.0, outputs=4.0),
    Isa.DSP: Work(macs=0.8, outputs=4.0),
    Isa.MVE: Work(macs=0.2, outputs=4.0),
}
_FLOAT = {
    Isa.SCALAR: Work(macs=5.0, outputs=10.0),
    Isa.DSP: Work(macs=5.0, outputs=10.0),
    Isa.MVE: Work(macs=2.0, outputs=10.0),
}
_SOFTWARE = Work(macs=80.0, outputs=150.0)
"""Floats without an FPU."""


def rough_prices(isa: Isa, is_float: bool, has_fpu: bool) -> Work:
    """Instructions of a multiply-accumulate and of a result, to compare steps of one program whose
    instructions are not counted: only their ratios matter.
    """
    if not is_float:
        return _INTEGER[isa]
    return _FLOAT[isa] if has_fpu else _SOFTWARE

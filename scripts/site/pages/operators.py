"""Operators of programs that have kernels, and microkernels by instruction set."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from cmcompiler.decode.registry import operators
from cmcompiler.isa import Isa
from pages.tables import table

ROOT = Path(__file__).parents[3]
_ARITHMETIC = {"cortex_m": "integers", "tflite": "integers", "cmbuild": "integers"}


def page() -> str:
    parts = [
        "# Operators\n",
        f"Programs may call {len(operators())} operators, on every core. The instruction sets with "
        "faster inner loops are listed below. Kernels of `aten` operators take the element types "
        "that the operator has in PyTorch, within int8 to int64, uint8, bool and float32.\n",
        table(["operator", "arithmetic", "what it is"], _operators()),
        "## Inner loops by instruction set\n",
        "A missing one is replaced by that of the set to its left.\n",
        table(["inner loop", *(isa.label for isa in sorted(Isa))], _loops()),
    ]
    return "\n".join(parts)


def _operators() -> list[list[str]]:
    rows = []
    for name, operator in sorted(operators().items()):
        text = inspect.getdoc(sys.modules[operator.read.__module__]) or ""
        arithmetic = _ARITHMETIC.get(name.partition("::")[0], "of its tensors")
        rows.append([f"`{name}`", arithmetic, text.partition("\n\n")[0]])
    return rows


def _loops() -> list[list[str]]:
    folder = ROOT / "runtime" / "isa"
    names = sorted({path.stem for path in folder.glob("*/*.c")})
    return [
        [
            f"`{name}`",
            *("●" if (folder / isa.label / f"{name}.c").exists() else "" for isa in sorted(Isa)),
        ]
        for name in names
    ]

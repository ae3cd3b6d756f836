"""Faults that an image reported, described with the names of its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cmbuild.errors import Failed
from cmbuild.image.console import ConsoleRecord
from cmbuild.image.elf import Symbols

# Armv8-M Architecture Reference Manual, "Exception numbers", CFSR and HFSR; Armv7-M's are a subset.
_EXCEPTIONS = {
    2: "NMI",
    3: "HardFault",
    4: "MemManage",
    5: "BusFault",
    6: "UsageFault",
    7: "SecureFault",
    11: "SVCall",
    12: "DebugMonitor",
    14: "PendSV",
    15: "SysTick",
}
_CAUSES = {
    0: "instruction fetch denied",
    1: "access denied",
    3: "access denied on exception return",
    4: "access denied on exception entry",
    5: "access denied while saving floating-point state",
    8: "instruction fetch failed",
    9: "no memory there",
    10: "write failed",
    11: "memory failed on exception return",
    12: "memory failed on exception entry",
    13: "memory failed while saving floating-point state",
    16: "undefined instruction",
    17: "not Thumb code",
    18: "broken exception return",
    19: "no coprocessor or FPU",
    20: "stack overflow",
    24: "unaligned access",
    25: "division by zero",
}
_MMFAR_VALID, _BFAR_VALID = 1 << 7, 1 << 15
_STACK_GUARD_BYTES = 256  # CM_STACK_GUARD_BYTES of runtime/cortexm/protect.h


class Fault(Failed):
    template = "{machine}: {what}"
    hint = "registers are in {log}; `arm-none-eabi-objdump -dl {image}` shows the code"


def fault(
    machine: str, records: Sequence[ConsoleRecord], symbols: Symbols, image: Path, log: Path
) -> Fault:
    """The error for an image that reported a fault (runtime/cortexm/fault.c).

    Its message: `HardFault: access denied at 0x00000010, in cm_copy (copy.c:31), LR in
    cm_executor_run (static_executor.c:60)`.
    """
    values: dict[str, int] = {}
    for record in records:
        if record.kind == "fault" and len(record.words) == 2:
            with suppress(ValueError):  # cut short by later output
                values[record.words[0]] = record.number(1)
    exception = values.get("exception", 0)
    what = _EXCEPTIONS.get(exception, f"unexpected interrupt {exception - 16}")
    status = values.get("cfsr", 0)
    if _outgrew_its_stack(values):
        what += ": stack overflow"
    else:
        causes = [text for bit, text in _CAUSES.items() if status >> bit & 1]
        if causes:
            what += ": " + ", ".join(causes)
        if status & _MMFAR_VALID:
            what += f" at 0x{values.get('mmfar', 0):08x}"
        elif status & _BFAR_VALID:
            what += f" at 0x{values.get('bfar', 0):08x}"
    # After a stack overflow, no registers were saved; after a wild jump, PC is not in a function.
    for name, register in (("in", "pc"), ("LR in", "lr")):
        if place := symbols.describe(values.get(register, 0)):
            what += f", {name} {place}"
    return Fault(machine=machine, what=what, image=image, log=log)


def _outgrew_its_stack(values: Mapping[str, int]) -> bool:
    """Whether a core without a stack limit register went below its stack."""
    limit = values.get("limit", 0)
    denied = values.get("cfsr", 0) & _MMFAR_VALID and values.get("mmfar", limit)
    return values.get("sp", limit) < limit or limit - _STACK_GUARD_BYTES <= denied < limit

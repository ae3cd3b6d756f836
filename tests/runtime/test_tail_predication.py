"""Loops of Helium with a predicated tail compute in elements that the tail holds whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.cycles.disassembly import Line, disassemble
from cmbuild.process import Processes
from cmbuild.toolchain import tools

# Arm's Architecture Reference Manual for Armv8-M, B5.6: lanes are predicated byte by byte, by
# elements of the size of the loop, so a wider element may be written in part.
_STARTS = re.compile(r"[dw]lstp\.(8|16|32|64)")
_TYPED = re.compile(r"(v\w+?)\.[a-z]*(8|16|32|64)")
_WIDENS = ("vmull", "vmovl", "vshll", "vqdmull")


def width(mnemonic: str) -> int:
    """Bits of the widest elements that an instruction has in registers; 0: no vector."""
    typed = _TYPED.match(mnemonic)
    if typed is None:
        return 0
    return int(typed[2]) * (2 if typed[1].startswith(_WIDENS) else 1)


def too_wide(lines: list[Line]) -> list[str]:
    """Instructions in such loops whose elements are wider than what the loop counts."""
    collected, counted = [], 0
    for line in lines:
        if started := _STARTS.fullmatch(line.mnemonic):
            counted = int(started[1])
        elif line.mnemonic == "letp":
            counted = 0
        elif counted and width(line.mnemonic) > counted:
            collected.append(f"{line.mnemonic} {line.operands}")
    return collected


@pytest.mark.parametrize(
    ("loop", "wrong"),
    [
        (("dlstp.8", "vldrb.u8", "vmladava.s8", "vaddva.s8", "letp"), 0),
        (("dlstp.8", "vldrb.u8", "vmullb.s8", "letp", "vadd.i32"), 1),
        (("wlstp.16", "vldrb.u16", "vmovlb.u16", "vadd.i32", "vqmovnb.s32", "letp"), 3),
        (("dlstp.32", "vldrb.s32", "vqrdmulh.s32", "vstrb.32", "letp"), 0),
    ],
)
def test_wider_elements_are_seen(loop: tuple[str, ...], wrong: int) -> None:
    assert len(too_wide([Line(4, mnemonic, "") for mnemonic in loop])) == wrong


def test_no_loop_computes_in_wider_elements(tmp_path: Path) -> None:
    image = kernel_harness("corstone300", "mve", tmp_path).image
    objdump = tools.find("arm-none-eabi-objdump")
    assert objdump is not None
    code = disassemble(objdump, image, "armv8.1-m.main", Processes(), tmp_path / "log")
    lines = [line for _, line in sorted(code.lines.items())]
    loops = sum(_STARTS.fullmatch(line.mnemonic) is not None for line in lines)
    assert loops == sum(line.mnemonic == "letp" for line in lines) > 20
    assert too_wide(lines) == []

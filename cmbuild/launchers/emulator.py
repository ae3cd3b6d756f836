"""A board reduced to its memory map: executes an image in Unicorn, with semihosting for input and
output. The launcher `unicorn` starts `python -m cmbuild.launchers.emulator`.

Unicorn delivers no exceptions to the core, so a fault ends the run with the records that the
image's own handler would have printed. There is no clock, but the core's cycle counter reads as the
number of instructions if its page is mapped; and the blocks of instructions can be counted.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cmbuild.image import elf
from cmbuild.image.console import PREFIX
from cmbuild.launchers.blocks import BlockCounter, InstructionCounter
from cmbuild.launchers.flash_reads import FlashReads
from cmbuild.launchers.semihosting import BREAKPOINT, Semihosting

if TYPE_CHECKING:
    from unicorn import Uc

_PAGE = 1024  # Unicorn's, for these cores
_PPB = 0xE000E000
_PPB_BYTES = 4096
_CPUID = 0xE000ED00

# Armv8-M and Armv7-M Architecture Reference Manuals, "CPUID"; the values are those of QEMU's cores,
# else of the Technical Reference Manuals. Armv8-M Baseline is part of the Cortex-M33's Mainline.
_CORES = {
    "cortex-m23": ("UC_CPU_ARM_CORTEX_M33", 0x411CD200),
    "cortex-m35p": ("UC_CPU_ARM_CORTEX_M33", 0x410FD310),
    "cortex-m33": ("UC_CPU_ARM_CORTEX_M33", 0x410FD213),
    "cortex-m7": ("UC_CPU_ARM_CORTEX_M7", 0x411FC272),
    "cortex-m4": ("UC_CPU_ARM_CORTEX_M4", 0x410FC240),
    "cortex-m3": ("UC_CPU_ARM_CORTEX_M3", 0x410FC231),
    "cortex-m0plus": ("UC_CPU_ARM_CORTEX_M0", 0x410CC601),
    "cortex-m0": ("UC_CPU_ARM_CORTEX_M0", 0x410CC200),
}
CORES = tuple(_CORES)

STAND_INS = {"cortex-m23": "cortex-m33", "cortex-m35p": "cortex-m33"}
"""Cores that Unicorn lacks, and the model that executes all of their instructions."""

TRACE_UNIT, TRACE_UNIT_BYTES = 0xE0001000, 4096
"""The architectures' "Data Watchpoint and Trace unit"."""

CYCLE_COUNTER = TRACE_UNIT + 4
"""Its CYCCNT."""

_BREAKPOINT = 7  # Unicorn's number for the exception

_HARD_FAULT, _USAGE_FAULT = 3, 6
_PRECISE_AND_VALID = 1 << 9 | 1 << 15  # CFSR: BusFault at BFAR
_UNDEFINED = 1 << 16


class Emulator:
    """A core, memory, and the semihosting."""

    def __init__(
        self, core: str, regions: list[tuple[int, int]], blocks: BlockCounter | None = None
    ) -> None:
        """
        Args:
            blocks: is told of each block that runs.
        """
        import unicorn
        from unicorn import arm_const

        self._registers = arm_const
        model, cpuid = _CORES[core]
        self._semihosting = Semihosting(self, Path(), lambda text: print(text, end="", flush=True))
        self._fault: tuple[int, int, int] | None = None
        mode = unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS
        machine = self._machine = unicorn.Uc(unicorn.UC_ARCH_ARM, mode)
        machine.ctl_set_cpu_model(getattr(arm_const, model))
        for origin, size in _mapped([*regions, (_PPB, _PPB_BYTES)]):
            machine.mem_map(origin, size)
        machine.mem_write(_CPUID, struct.pack("<I", cpuid))
        machine.hook_add(unicorn.UC_HOOK_INTR, self._interrupted)
        machine.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, self._unmapped)
        if any(origin <= CYCLE_COUNTER < origin + size for origin, size in _mapped(regions)):
            counter = InstructionCounter(machine, arm_const.UC_ARM_REG_PC)
            machine.hook_add(unicorn.UC_HOOK_BLOCK, counter.enter)
            read = unicorn.UC_HOOK_MEM_READ
            machine.hook_add(read, counter.read, begin=CYCLE_COUNTER, end=CYCLE_COUNTER)
        self._blocks = blocks
        if blocks is not None:
            blocks.watch(machine)

    def run(self, image: Path) -> int:
        """Returns the image's exit status."""
        import unicorn

        machine = self._machine
        for address, data in elf.loaded(image):
            machine.mem_write(address, data)
        stack, place = elf.vectors(image)
        machine.reg_write(self._registers.UC_ARM_REG_SP, stack)
        while self._semihosting.status is None and self._fault is None:
            try:
                machine.emu_start(place | 1, 0xFFFFFFFE)
            except unicorn.UcError:
                if self._fault is None:
                    self._fault = _USAGE_FAULT, _UNDEFINED, 0
            place = self._register("PC")
        if self._blocks is not None:
            self._blocks.finish()
        if self._fault is not None:
            self._report(*self._fault)
            return 1
        assert self._semihosting.status is not None
        return self._semihosting.status

    def _register(self, name: str) -> int:
        value: int = self._machine.reg_read(getattr(self._registers, f"UC_ARM_REG_{name}"))
        return value

    def _report(self, exception: int, status: int, address: int) -> None:
        names = ("R0", "R1", "R2", "R3", "R12", "LR", "PC", "SP")
        values = {"exception": exception, "cfsr": status, "bfar": address}
        values |= {name.lower(): self._register(name) for name in names}
        for name, value in values.items():
            print(f"{PREFIX}fault {name} {value:x}", flush=True)

    def _unmapped(self, machine: Uc, kind: int, address: int, *_: object) -> bool:
        self._fault = _HARD_FAULT, _PRECISE_AND_VALID, address
        machine.emu_stop()
        return False

    def _interrupted(self, machine: Uc, number: int, data: object) -> None:
        place = self._register("PC")
        if number != _BREAKPOINT or bytes(machine.mem_read(place, 2)) != BREAKPOINT:
            self._fault = _HARD_FAULT, 0, 0
            machine.emu_stop()
            return
        answer = self._semihosting.call(self._register("R0"), self._register("R1"))
        if self._semihosting.status is not None:
            machine.emu_stop()
        machine.reg_write(self._registers.UC_ARM_REG_R0, answer & 0xFFFFFFFF)
        machine.reg_write(self._registers.UC_ARM_REG_PC, place + 2 | 1)

    def read(self, address: int, size: int) -> bytes:
        """Implements CoreMemory."""
        return bytes(self._machine.mem_read(address, size))

    def write(self, address: int, data: bytes) -> None:
        """Implements CoreMemory."""
        self._machine.mem_write(address, data)


def _mapped(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs of whole pages that hold some places, which may share pages: origins and sizes."""
    runs: list[tuple[int, int]] = []
    for origin, size in sorted(places):
        first, end = origin // _PAGE * _PAGE, -(-(origin + size) // _PAGE) * _PAGE
        if runs and first <= sum(runs[-1]):
            begin = runs[-1][0]
            runs[-1] = begin, max(end, sum(runs[-1])) - begin
        else:
            runs.append((first, end - first))
    return runs


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--core", type=click.Choice(CORES), required=True)
@click.option("--memory", nargs=2, type=int, multiple=True, help="Origin and size.")
@click.option("--blocks", type=(click.Path(path_type=Path), int, int), help="See BlockCounter.")
@click.option("--flash", type=(click.Path(path_type=Path), str), help="See FlashReads.")
def main(
    image: Path,
    core: str,
    memory: tuple[tuple[int, int], ...],
    blocks: tuple[Path, int, int] | None,
    flash: tuple[Path, str] | None,
) -> None:
    reads = None if flash is None else FlashReads(*flash)
    counter = None if blocks is None else BlockCounter(*blocks, reads)
    sys.exit(Emulator(core, list(memory), counter).run(image))


if __name__ == "__main__":
    main()

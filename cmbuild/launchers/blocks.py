"""Counts of what Unicorn executes, block by block: instructions, and transitions between blocks."""

from __future__ import annotations

import struct
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unicorn import Uc

    from cmbuild.launchers.flash_reads import FlashReads

_WIDE = 0xE8
"""Thumb code: a first halfword from 0xE800 on begins an instruction of two."""


class InstructionCounter:
    """The core's cycle counter, with a cycle for each instruction."""

    def __init__(self, machine: Uc, program_counter: int) -> None:
        self._machine = machine
        self._program_counter = program_counter
        self._executed = 0
        self._end = 0  # end of the running block
        self._counts: dict[tuple[int, int], int] = {}

    def enter(self, machine: Uc, address: int, size: int, data: object) -> None:
        """A block starts: counts all of it."""
        self._end = address + size
        count = self._counts.get((address, size))
        if count is None:
            count = self._counts[address, size] = instructions(machine, address, self._end)
        self._executed += count

    def read(self, machine: Uc, kind: int, address: int, size: int, *_: object) -> None:
        """The core reads the counter: what is left of the block has not been executed yet."""
        place = machine.reg_read(self._program_counter) & ~1
        value = self._executed - instructions(machine, place, self._end)
        machine.mem_write(address, struct.pack("<I", value & 0xFFFFFFFF))


class BlockCounter:
    """How often a block runs right after another, in segments that calls of one function separate:
    what runtime/tools/block_profile.c is for QEMU, whose file this writes.
    """

    def __init__(self, output: Path, mark: int, last: int, flash: FlashReads | None = None) -> None:
        """
        Args:
            mark: the function that ends a segment.
            last: the function whose second call ends the counting.
            flash: counts the reads of flash in the same segments.
        """
        self._flash = flash
        self._output = output
        self._mark = mark
        self._last = last
        self._runs_of_last = 0
        self._hook: int | None = None
        self._lines: list[str] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._edges: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._before = 0

    def watch(self, machine: Uc) -> None:
        """Begins to count what a machine executes."""
        import unicorn

        if self._flash is not None:
            self._flash.watch(machine)
        self._hook = machine.hook_add(unicorn.UC_HOOK_BLOCK, self._enter)

    def finish(self) -> None:
        """Writes the file."""
        self._output.write_text("\n".join([*self._lines, "end", ""]))

    def _enter(self, machine: Uc, address: int, size: int, data: object) -> None:
        block = self._numbers.get((address, size))
        if block is None:
            block = self._numbers[address, size] = len(self._numbers) + 1
            count = instructions(machine, address, address + size)
            self._lines.append(f"block {block} {address:x} {count}")
        self._edges[self._before, block] += 1
        self._before = block
        if address == self._mark:
            self._end_segment()
        elif address == self._last:
            self._runs_of_last += 1
            if self._runs_of_last > 1 and self._hook is not None:
                machine.hook_del(self._hook)
                self._hook = None
                if self._flash is not None:
                    self._flash.stop(machine)

    def _end_segment(self) -> None:
        self._lines.append("segment")
        self._lines += [f"{before} {after} {n}" for (before, after), n in self._edges.items()]
        self._edges.clear()
        if self._flash is not None:
            self._lines.append(self._flash.taken())


def instructions(machine: Uc, start: int, end: int) -> int:
    """Thumb instructions in a range of addresses."""
    count, code = 0, bytes(machine.mem_read(start, max(0, end - start)))
    place = 0
    while place < len(code):
        place += 4 if code[place + 1] >= _WIDE else 2
        count += 1
    return count

"""A model of the RP2350 that runs firmware as the hardware does.

It executes the instructions in Unicorn with the chip's exact map, boots from a UF2 file like the
boot ROM, and refuses accesses that the datasheet forbids: to blocks in reset, or to clocks not
running yet. `python -m harness.rp2350 FILE.uf2 TERMINAL [HASTE]` runs it on a terminal until
killed, and restarts it whenever its watchdog fires.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import time
import tty
from collections.abc import Callable
from pathlib import Path

from unicorn import (
    UC_ARCH_ARM,
    UC_HOOK_INTR,
    UC_HOOK_MEM_UNMAPPED,
    UC_MODE_MCLASS,
    UC_MODE_THUMB,
    Uc,
    UcError,
)
from unicorn.arm_const import (
    UC_ARM_REG_IPSR,
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_R0,
    UC_ARM_REG_R1,
    UC_ARM_REG_R2,
    UC_ARM_REG_R3,
    UC_ARM_REG_R12,
    UC_ARM_REG_SP,
    UC_CPU_ARM_CORTEX_M33,
)

from cmbuild.image import uf2

FLASH, FLASH_SIZE = 0x10000000, 4 << 20
SRAM, SRAM_SIZE = 0x20000000, 520 << 10
IMAGE_DEF = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)

CLOCK = 150_000_000
PERIPHERALS, PERIPHERALS_SIZE = 0x40000000, 0x200000
PPB = 0xE0000000
SET, CLEAR, XOR = 2, 3, 1

# Blocks by number, and the bit of RESETS that holds each (datasheet, "Subsystem resets").
SYSINFO, CLOCKS, PSM, RESETS, IO, PADS = 0x0, 0x10, 0x18, 0x20, 0x28, 0x38
XOSC, PLL, UART, WATCHDOG, TICKS = 0x48, 0x50, 0x70, 0xD8, 0x108
RESET_BITS = {SYSINFO: 21, IO: 6, PADS: 9, PLL: 14, UART: 26}
# By offset; all others are assumed 0. Pads are isolated and pulled down.
RESET_VALUES = {
    RESETS << 12: 0x1FFFFFFF,
    (CLOCKS << 12) + 0x40: 0x10000,
    (PLL << 12) + 4: 0x2D,
    (IO << 12) + 4: 31,
    (IO << 12) + 12: 31,
    (PADS << 12) + 4: 0x116,
    (PADS << 12) + 8: 0x116,
}
DWT_CTRL = -1

FRAME = (
    UC_ARM_REG_R0,
    UC_ARM_REG_R1,
    UC_ARM_REG_R2,
    UC_ARM_REG_R3,
    UC_ARM_REG_R12,
    UC_ARM_REG_LR,
)
SLICE_MICROSECONDS = 100_000


class Wrong(Exception):
    """Firmware did what hardware would not accept."""


class Restart(Exception):
    """The watchdog fired."""


class Chip:
    """
    Attributes:
        terminal: descriptor of the terminal wired to UART0.

    Args:
        haste: how much faster the watchdog is than the chip's.
    """

    def __init__(self, image: bytes, terminal: int, haste: float = 1.0) -> None:
        self.terminal = terminal
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._haste = haste
        self._error: Exception | None = None
        self._fault: tuple[int, int] | None = None
        self._registers = dict(RESET_VALUES)
        self._deadline = float("inf")
        self._start = time.monotonic()
        self._special: dict[int, Callable[[int], int]] = {
            SYSINFO << 12: lambda value: 0x20004927,
            (RESETS << 12) + 8: lambda value: ~self._registers[RESETS << 12] & 0x1FFFFFFF,
            (XOSC << 12) + 4: lambda value: self._has_crystal() << 31,
            PLL << 12: lambda value: value | self._is_locked() << 31,
            (CLOCKS << 12) + 0x38: lambda value: self._selected((CLOCKS << 12) + 0x30),
            (CLOCKS << 12) + 0x44: lambda value: self._selected((CLOCKS << 12) + 0x3C),
            (UART << 12) + 0x18: self._uart_flags,
            UART << 12: self._take,
        }
        core = self._core = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        core.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M33)
        core.mem_map(FLASH, FLASH_SIZE, 5)
        core.mem_map(SRAM, SRAM_SIZE)
        core.mem_map(PPB + 0xE000, 0x1000)
        core.mem_write(PPB + 0xED00, struct.pack("<I", 0x411FD210))
        core.mmio_map(PPB + 0x1000, 0x1000, self._read_dwt, None, self._write_dwt, None)
        core.mmio_map(PERIPHERALS, PERIPHERALS_SIZE, self._read, None, self._write, None)
        core.hook_add(UC_HOOK_INTR, self._interrupted)
        core.hook_add(UC_HOOK_MEM_UNMAPPED, self._unmapped)
        core.mem_write(FLASH, image)

    def run(self) -> None:
        """Raises Restart, or Wrong."""
        stack, place = struct.unpack("<2I", self._core.mem_read(FLASH, 8))
        self._core.reg_write(UC_ARM_REG_SP, stack)
        while True:
            try:
                self._core.emu_start(place | 1, 0xFFFFFFFE, timeout=SLICE_MICROSECONDS)
            except UcError as error:
                if self._fault is None:
                    raise Wrong(str(error)) from error
            if self._error is not None:
                raise self._error
            if time.monotonic() > self._deadline:
                raise Restart
            place = self._core.reg_read(UC_ARM_REG_PC)
            if self._fault is not None:
                place = self._enter_fault(*self._fault)
                self._fault = None

    def _enter_fault(self, place: int, address: int) -> int:
        """A bus error as the core handles it: pushes a frame, takes the HardFault vector."""
        core, system = self._core, PPB + 0xE000
        registers = [core.reg_read(name) for name in FRAME]
        stack = core.reg_read(UC_ARM_REG_SP) - 32
        core.mem_write(stack, struct.pack("<8I", *registers, place, 1 << 24))
        core.reg_write(UC_ARM_REG_SP, stack)
        core.reg_write(UC_ARM_REG_LR, 0xFFFFFFF9)
        core.reg_write(UC_ARM_REG_IPSR, 3)
        core.mem_write(system + 0xD28, struct.pack("<I", 0x8200))  # CFSR: precise, BFAR is valid
        core.mem_write(system + 0xD38, struct.pack("<I", address))
        vectors = struct.unpack("<I", core.mem_read(system + 0xD08, 4))[0]
        handler: int = struct.unpack("<I", core.mem_read(vectors + 12, 4))[0]
        return handler

    def _stop(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self._core.emu_stop()

    def _interrupted(self, core: Uc, number: int, data: object) -> None:
        place = core.reg_read(UC_ARM_REG_PC)
        self._stop(Wrong(f"exception {number} at {place:#x}, r0 {core.reg_read(UC_ARM_REG_R0):#x}"))

    def _unmapped(
        self, core: Uc, kind: int, address: int, size: int, value: int, _: object
    ) -> bool:
        self._fault = core.reg_read(UC_ARM_REG_PC), address
        core.emu_stop()
        return False

    def _read_dwt(self, core: Uc, offset: int, size: int, data: object) -> int:
        if offset != 4 or not self._registers.get(DWT_CTRL, 0) & 1:
            return self._registers.get(DWT_CTRL, 0)
        return int((time.monotonic() - self._start) * CLOCK) & 0xFFFFFFFF

    def _write_dwt(self, core: Uc, offset: int, size: int, value: int, data: object) -> None:
        if offset == 0:
            tracing = struct.unpack("<I", core.mem_read(PPB + 0xEDFC, 4))[0] >> 24 & 1
            if not tracing:
                self._stop(Wrong("DWT without TRCENA"))
            self._registers[DWT_CTRL] = value

    def _is_reset(self, block: int) -> bool:
        bit = RESET_BITS.get(block)
        return bit is not None and bool(self._registers[RESETS << 12] >> bit & 1)

    def _guarded(self, access: Callable[[], int]) -> int:
        try:
            return access()
        except (Wrong, Restart) as error:
            self._stop(error)
            return 0

    def _read(self, core: Uc, offset: int, size: int, data: object) -> int:
        return self._guarded(lambda: self._load(offset))

    def _write(self, core: Uc, offset: int, size: int, value: int, data: object) -> None:
        self._guarded(lambda: self._alias(offset, value))

    def _alias(self, offset: int, value: int) -> int:
        """Atomic aliases: bits 12 and 13 of an address."""
        kind, offset = offset >> 12 & 3, offset & ~0x3000
        old = self._registers.get(offset, 0)
        new = {0: value, XOR: old ^ value, SET: old | value, CLEAR: old & ~value}[kind]
        self._store(offset, new & 0xFFFFFFFF)
        return 0

    def _load(self, offset: int) -> int:
        if time.monotonic() > self._deadline:
            raise Restart
        if self._is_reset(offset >> 12):
            raise Wrong(f"read of {offset:#x} in reset")
        value = self._registers.get(offset, 0)
        special = self._special.get(offset)
        return value if special is None else special(value)

    def _take(self, value: int) -> int:
        """UART0's data register."""
        return self._incoming.pop(0)

    def _selected(self, control: int) -> int:
        """The one-hot SELECTED value of a glitchless multiplexer."""
        return 1 << (self._registers.get(control, 0) & 3)

    def _has_crystal(self) -> bool:
        return self._registers.get(XOSC << 12, 0) == 0xFABAA0

    def _is_locked(self) -> bool:
        power = self._registers[(PLL << 12) + 4]
        return self._has_crystal() and not power & 0x21 and self._vco() == 1500

    def _vco(self) -> int:
        return 12 * self._registers.get((PLL << 12) + 8, 0)

    def _mhz(self) -> float:
        """Frequency of clk_sys and clk_peri."""
        if self._registers.get((CLOCKS << 12) + 0x3C, 0) != 1:
            return 12
        first, second = (self._registers[(PLL << 12) + 0xC] >> shift & 7 for shift in (16, 12))
        return self._vco() / first / second

    def _uart_flags(self, value: int) -> int:
        # A short wait, to avoid busy polling.
        self._flush()
        if not self._incoming and select.select([self.terminal], [], [], 0.001)[0]:
            self._incoming += os.read(self.terminal, 32)
        return 0 if self._incoming else 1 << 4

    def _flush(self) -> None:
        while self._outgoing:
            del self._outgoing[: os.write(self.terminal, self._outgoing)]

    def _store(self, offset: int, new: int) -> None:
        block, register = offset >> 12, offset & 0xFFF
        if self._is_reset(block):
            raise Wrong(f"write of {offset:#x} in reset")
        if (block, register) == (CLOCKS, 0x3C) and new & 1 and not self._is_running():
            raise Wrong("clk_sys from a PLL that does not run")
        if (block, register) == (UART, 0x30) and new & 1:
            self._check_uart()
        if (block, register) == (UART, 0):
            self._check_pins()
            self._outgoing.append(new & 0xFF)
            if len(self._outgoing) == 32:
                self._flush()
            return
        if block == WATCHDOG:
            self._watch(register, new)
        self._registers[offset] = new

    def _is_running(self) -> bool:
        power = self._registers[(PLL << 12) + 4]
        return self._is_locked() and not power & 0x08

    def _check_uart(self) -> None:
        base = UART << 12
        divisor = self._registers.get(base + 0x24, 0) + self._registers.get(base + 0x28, 0) / 64
        baud = self._mhz() * 1e6 / 16 / divisor
        if abs(baud / 921600 - 1) > 0.005 or self._registers.get(base + 0x2C) != 0x70:
            raise Wrong(f"UART0 at {baud:.0f}")

    def _check_pins(self) -> None:
        clocked = self._registers.get((CLOCKS << 12) + 0x48, 0) >> 11 & 1
        functions = [self._registers[(IO << 12) + place] for place in (4, 12)]
        pads = [self._registers[(PADS << 12) + place] for place in (4, 8)]
        if not clocked or functions != [2, 2] or any(pad >> 7 for pad in pads):
            raise Wrong(f"UART0 without clock or pins: {functions} {pads}")
        if not pads[1] >> 6 & 1:
            raise Wrong("no input at GPIO1")

    def _watch(self, register: int, value: int) -> None:
        if self._registers.get((TICKS << 12) + 0x34) != 12:
            raise Wrong("the watchdog has no microseconds")
        if register == 0 and value >> 31:
            if self._registers.get((PSM << 12) + 8, 0) != 0x01FFFFF3:
                raise Wrong("the watchdog would not restart the chip")
            self._flush()
            raise Restart
        if register == 4:
            self._deadline = time.monotonic() + value / 1e6 / self._haste


def flash(file: Path) -> bytes:
    """The contents of flash after a UF2 file, checked against the boot ROM's requirements."""
    memory = bytearray(b"\xff" * FLASH_SIZE)
    for block in uf2.decode(file.read_bytes(), file.name):
        if not block.is_ignored:
            assert block.family == 0xE48BFF59
            place = block.address - FLASH
            memory[place : place + uf2.PAGE] = block.payload
    assert IMAGE_DEF in memory[:4096], "the boot ROM finds no image"
    return bytes(memory)


def main(file: Path, terminal: str, haste: float = 1.0) -> None:
    line = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    while True:
        try:
            Chip(flash(file), line, haste).run()
        except Restart:
            print("restart", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:]))

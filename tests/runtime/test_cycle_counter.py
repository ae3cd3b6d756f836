"""The core's cycle counter starts on cores with and without a lock on its registers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from harness.sources import ROOT
from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_SP

from cmbuild.process import Processes

SOURCE = '#include "cmrt/cycle_counter.h"\nvoid start(void) { cm_cycle_counter_start(); }\n'
CODE, STACK, END = 0x1000, 0x20001000, 0x2000
DWT, SYSTEM = 0xE0001000, 0xE000E000
CTRL, CYCCNT, LAR, DEMCR = 0x000, 0x004, 0xFB0, 0xDFC
KEY, TRACE = 0xC5ACCE55, 1 << 24


class Unit:
    """Data Watchpoint and Trace, as the architecture reference manuals describe it.

    Attributes:
        registers: by offset.
    """

    def __init__(self, has_lock: bool) -> None:
        self.registers = {CTRL: 0, CYCCNT: 0x1234}
        self._is_locked = has_lock
        self._has_lock = has_lock

    def read(self, core: Uc, offset: int, size: int, data: object) -> int:
        return self.registers.get(offset, 0)

    def write(self, core: Uc, offset: int, size: int, value: int, data: object) -> None:
        is_on = int.from_bytes(core.mem_read(SYSTEM + DEMCR, 4), "little") & TRACE
        if offset == LAR:
            self._is_locked = self._has_lock and value != KEY
        elif is_on and not self._is_locked:
            self.registers[offset] = value


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder: Path = tmp_path_factory.mktemp("counter")
    (folder / "start.c").write_text(SOURCE)
    run = partial(Processes().run, log=folder / "log.txt", timeout=60)
    flags = ["-mcpu=cortex-m7", "-mthumb", "-Os", "-I", ROOT / "runtime" / "include", "-nostdlib"]
    flags += [f"-Wl,-Ttext={CODE:#x},-e,start"]
    image, binary = folder / "start.elf", folder / "start.bin"
    run(["arm-none-eabi-gcc", *flags, folder / "start.c", "-o", image])
    run(["arm-none-eabi-objcopy", "-O", "binary", image, binary])
    return binary.read_bytes()


@pytest.mark.parametrize("has_lock", [False, True], ids=["other cores", "cortex-m7"])
def test_the_counter_starts_from_zero(code: bytes, has_lock: bool) -> None:
    unit = Unit(has_lock)
    core = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
    core.mem_map(0, 0x4000)
    core.mem_map(STACK - 0x1000, 0x1000)
    core.mem_map(SYSTEM, 0x1000)
    core.mmio_map(DWT, 0x1000, unit.read, None, unit.write, None)
    core.mem_write(CODE, code)
    core.reg_write(UC_ARM_REG_SP, STACK)
    core.reg_write(UC_ARM_REG_LR, END | 1)
    core.emu_start(CODE | 1, END, count=100)
    assert unit.registers[CYCCNT] == 0
    assert unit.registers[CTRL] & 1

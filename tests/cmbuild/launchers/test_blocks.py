"""Blocks as Unicorn runs them, written as QEMU's plugin writes them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cmbuild.cycles.profile import TranslationBlock, read_profile
from cmbuild.launchers.blocks import BlockCounter, instructions

unicorn = pytest.importorskip("unicorn")
from unicorn import arm_const  # noqa: E402

START, MARK, LAST, END = 0x1000, 0x1010, 0x1020, 0x100E
# bl mark; bl last; bl last; b .; mark: bx lr; last: nop, bx lr
CODE = {
    START: (0xF000, 0xF806, 0xF000, 0xF80C, 0xF000, 0xF80A, 0xE7FE),
    MARK: (0x4770,),
    LAST: (0xBF00, 0x4770),
}


@pytest.fixture
def machine() -> object:
    core = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    core.mem_map(START, 0x1000)
    for address, words in CODE.items():
        core.mem_write(address, struct.pack(f"<{len(words)}H", *words))
    return core


def test_segments_end_at_the_mark_and_counting_at_the_second_run(machine, tmp_path: Path) -> None:
    counter = BlockCounter(tmp_path / "blocks.txt", MARK, LAST)
    counter.watch(machine)
    machine.emu_start(START | 1, START + 12)
    counter.finish()
    profile = read_profile(tmp_path / "blocks.txt")
    assert profile.blocks == {
        1: TranslationBlock(START, 1),
        2: TranslationBlock(MARK, 1),
        3: TranslationBlock(START + 4, 1),
        4: TranslationBlock(LAST, 2),
        5: TranslationBlock(START + 8, 1),
    }
    # What runs after the last mark belongs to no segment.
    assert list(profile.segments) == [{(0, 1): 1, (1, 2): 1}]
    assert machine.reg_read(arm_const.UC_ARM_REG_LR) == START + 13


def test_instructions_of_one_halfword_and_of_two(machine) -> None:
    assert instructions(machine, START, START + 14) == 4
    assert instructions(machine, LAST, LAST) == 0

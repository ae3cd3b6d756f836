"""Chips by name, and the boards that they make."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cmbuild.boards.memory import Memory, Region
from cmbuild.catalog import find_board, read_board, shipped_boards
from cmbuild.chips.board import NeedsBootStage, NeedsFlash, board_name, chip_board
from cmbuild.chips.chip import Chip
from cmbuild.chips.table import FILE, AmbiguousChip, UnknownChip, chips, find_chip, matching
from cmbuild.errors import UnknownName
from cmbuild.launchers.registry import launchers_of

KNOWN = {
    # name: core, FPU, flash, largest RAM, as the vendors' data sheets have them
    "STM32F411RE": ("cortex-m4", None, (0x08000000, 512 << 10), (0x20000000, 128 << 10)),
    "STM32G0B1RE": ("cortex-m0plus", "none", (0x08000000, 512 << 10), (0x20000000, 144 << 10)),
    "STM32F746ZG": ("cortex-m7", "single", (0x08000000, 1 << 20), (0x20000000, 320 << 10)),
    "STM32H743ZI": ("cortex-m7", "double", (0x08000000, 2 << 20), (0x24000000, 512 << 10)),
    "STM32L4R5ZI": ("cortex-m4", None, (0x08000000, 2 << 20), (0x20000000, 640 << 10)),
    "STM32WLE5JC": ("cortex-m4", "none", (0x08000000, 256 << 10), (0x20000000, 64 << 10)),
    "nRF52840_xxAA": ("cortex-m4", None, (0x00000000, 1 << 20), (0x20000000, 256 << 10)),
    "nRF51822_xxAA": ("cortex-m0", "none", (0x00000000, 256 << 10), (0x20000000, 16 << 10)),
    "LPC55S69JBD100": ("cortex-m33", None, (0x00000000, 630 << 10), (0x20000000, 272 << 10)),
    "ATSAME70Q21": ("cortex-m7", "double", (0x00400000, 2 << 20), (0x20400000, 384 << 10)),
    "GD32E230C8": ("cortex-m23", "none", (0x08000000, 64 << 10), (0x20000000, 8 << 10)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_facts_are_those_of_the_data_sheet(name: str) -> None:
    assert facts(find_chip(name)) == KNOWN[name]


def facts(chip: Chip) -> tuple[object, ...]:
    flash, ram = chip.flash, chip.ram[0]
    return chip.cpu, chip.fpu, (flash.origin, flash.size), (ram.origin, ram.size)


def test_thousands_of_chips_in_a_small_file() -> None:
    assert len(chips()) >= 4000
    assert FILE.stat().st_size <= 400 << 10


def test_names_in_any_case_with_a_package_or_without() -> None:
    assert find_chip("stm32f411re") == find_chip("STM32F411RETx")
    assert find_chip("nRF52840").name == "nRF52840_xxAA"
    assert find_chip("STM32L4R5ZITx").name == "STM32L4R5ZI"
    assert find_chip("STM32L4R5ZITxP").name == "STM32L4R5ZITxP"
    with pytest.raises(AmbiguousChip) as ambiguous:
        find_chip("STM32F411")
    assert "STM32F411CC" in str(ambiguous.value.hint)
    for name in ("", "STM32F999XX", "*"):
        with pytest.raises((UnknownChip, AmbiguousChip)):
            find_chip(name)
    assert [chip.name for chip in matching("nrf5284")] == ["nRF52840_xxAA"]
    assert all(chip.name.startswith("STM32G0") for chip in matching("stm32g0*"))


def test_every_chip_makes_a_board_that_can_be_read(tmp_path: Path) -> None:
    boards = list(shipped_boards())
    makeable = [chip for chip in chips().values() if chip.has_flash]
    for chip in random.Random(0).sample(makeable, 40):
        board = read_board(chip_board(board_name(chip), tmp_path, chip, boards))
        assert (board.cpu, board.fpu) == (chip.cpu, chip.fpu)
        assert board.regions["flash"].size == chip.flash.size
        assert board.assumed_stack <= max(1536, board.regions["ram"].size // 4)
        assert launchers_of(board)


def test_flash_on_the_board_has_a_size_that_only_the_user_knows(tmp_path: Path) -> None:
    chip = find_chip("RP235x")
    with pytest.raises(NeedsFlash) as needed:
        chip_board("mine", tmp_path, chip, ())
    assert needed.value.hint == "cmbuild new board NAME --chip RP235x --flash 0x10000000:SIZE"
    flash = Region("flash", Memory.FLASH, 0x10000000, 4 << 20)
    board = read_board(chip_board("mine", tmp_path, chip, shipped_boards(), flash=flash))
    assert board.regions["flash"].size == 4 << 20
    with pytest.raises(NeedsBootStage):
        chip_board("other", tmp_path, find_chip("RP2040"), (), flash=flash)


def test_a_chip_is_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path))
    board = find_board("STM32F411RE", {})
    assert (board.name, board.cpu) == ("stm32f411re", "cortex-m4")
    assert find_board("stm32f411retx", {}).folder == board.folder
    with pytest.raises(UnknownName, match="unknown board 'STM32F999'"):
        find_board("STM32F999", {})

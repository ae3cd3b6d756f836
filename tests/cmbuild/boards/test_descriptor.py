"""board.toml is read strictly, and a broken one is one clear line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cmbuild import discovery
from cmbuild.boards.memory import Layout, Memory
from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board, read_board
from cmbuild.errors import ExitCode
from cmbuild.hardware import methods
from cmbuild.hardware.registry import flashing
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.qemu import Qemu
from cmbuild.strictfile import BrokenFile
from cmcompiler.isa import Isa

BAD = Path(__file__).parents[2] / "data" / "bad_boards"

GOOD = """\
title = "A board"
cpu = "cortex-m4"
stack = "8K"
[memory.flash]
kind = "flash"
origin = 0x08000000
size = "1M"
[memory.sram]
kind = "ram"
origin = 0x20000000
size = 131072
[sections]
code = "flash"
constants = "flash"
data = "sram"
arena = "sram"
[launchers.qemu]
machine = "mps2-an386"
ticks_per_second = 25_000_000
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "board.toml").write_text(text)
    return folder


def test_a_board(tmp_path):
    board = read_board(write(tmp_path / "mine", GOOD))
    assert (board.name, board.cpu, board.stack) == ("mine", "cortex-m4", 8192)
    assert board.isas == (Isa.DSP, Isa.SCALAR)
    assert board.layout == Layout(code="flash", constants="flash", data="sram", arena="sram")
    assert board.capacity(Memory.FLASH) == 1 << 20
    assert board.capacity(Memory.RAM) == 131072
    assert launchers_of(board) == (Qemu("mps2-an386", 25_000_000),)
    assert board.region_at(0x2001FFFF, 1) is board.regions["sram"]
    assert board.region_at(0x2001FFFF, 2) is None


def test_fewer_instruction_sets(tmp_path):
    text = GOOD.replace('stack = "8K"', 'stack = "8K"\nisas = ["scalar"]')
    assert read_board(write(tmp_path / "mine", text)).isas == (Isa.SCALAR,)


@pytest.mark.parametrize("path", sorted(BAD.glob("*.toml")), ids=lambda path: path.stem)
def test_a_broken_descriptor_is_one_clear_line(path, tmp_path):
    shutil.copy(path, tmp_path / "board.toml")
    with pytest.raises(BrokenFile) as error:
        read_board(tmp_path)
    assert error.value.exit_code is ExitCode.USAGE
    message = error.value.message.replace(f"{tmp_path}/", "")
    hint = f"  try: {error.value.hint}\n" if error.value.hint else ""
    assert f"{message}\n{hint}" == path.with_suffix(".expected").read_text().replace(
        "{flash methods}", ", ".join(sorted(discovery.names(methods)))
    )


def test_a_folder_without_descriptor(tmp_path):
    with pytest.raises(BrokenFile, match=r"board\.toml: not found"):
        read_board(tmp_path)


@pytest.mark.parametrize("name", board_folders())
def test_every_board_in_the_tree_is_right(name):
    board = find_board(name)
    assert launchers_of(board) or flashing(board)


@pytest.mark.parametrize(
    ("regions", "problem"),
    [
        (
            "flash (rx) : ORIGIN = 0x08000000, LENGTH = 1024K",
            ": memory.sram: link.ld does not have this region",
        ),
        (
            "flash : ORIGIN = 0x08000000, LENGTH = 1M\nsram : ORIGIN = 0x20000000, LENGTH = 64K",
            ": memory.sram: link.ld has it at 0x20000000 with 0x10000 bytes",
        ),
    ],
)
def test_a_boards_own_link_script_has_its_regions(regions, problem, tmp_path):
    folder = write(tmp_path / "mine", GOOD)
    script = f"/* MEMORY {{ }} */\nMEMORY\n{{\n{regions}\n}}\n"
    (folder / "link.ld").write_text(script)
    with pytest.raises(BrokenFile, match=problem):
        read_board(folder)
    (folder / "link.ld").write_text(
        script.replace("}", "sram : ORIGIN = 0x20000000, LENGTH = 128K }", 2)
    )
    if "sram" not in regions:
        read_board(folder)

"""New boards are right at once, for every core, and refused where they cannot be."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cmbuild.boards.memory import Memory, Region
from cmbuild.boards.template import (
    BadClock,
    BadMemory,
    BadName,
    Exists,
    make_board,
    parse_hertz,
    parse_memory,
)
from cmbuild.catalog import read_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.errors import UsageError
from cmbuild.hardware.registry import flashing
from cmbuild.launchers.registry import launchers_of
from cmcompiler.target import BEST_ISA

FLASH = Region("flash", Memory.FLASH, 0x08000000, 1 << 20)
RAM = Region("ram", Memory.RAM, 0x20000000, 256 << 10)


@pytest.mark.parametrize("cpu", BEST_ISA)
def test_a_board_for_every_core(cpu: str, tmp_path: Path):
    folder = make_board("mine", tmp_path / "boards", cpu=cpu, fpu=None, flash=FLASH, ram=RAM)
    board = read_board(folder)
    assert (board.name, board.cpu, board.isas[0]) == ("mine", cpu, BEST_ISA[cpu])
    regions = {r.name: (r.kind.value, r.origin, r.size) for r in board.regions.values()}
    assert regions == {
        "flash": ("flash", FLASH.origin, FLASH.size),
        "ram": ("ram", RAM.origin, RAM.size),
    }
    assert (board.stack, launchers_of(board), flashing(board)) == (None, (), None)
    assert {path.name for path in folder.iterdir()} == {"board.toml", "board.c", "interrupts.h"}
    assert ("cycle_counter" in (folder / "board.c").read_text()) == (
        cpu not in ("cortex-m0", "cortex-m0plus", "cortex-m23")
    )


def test_an_assumed_stack_leaves_room_in_little_ram(tmp_path: Path):
    ram = replace(RAM, origin=0x20000000, size=5000)
    folder = make_board("b", tmp_path, cpu="cortex-m7", fpu="single", flash=FLASH, ram=ram)
    board = read_board(folder)
    assert (board.assumed_stack, board.fpu, board.regions["ram"].size) == (1536, "single", 5000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu": "cortex-m34"}, "unknown core: 'cortex-m34'"),
        ({"fpu": "double"}, "fpu: cortex-m4 does not have fpu 'double'"),
        ({"ram": replace(RAM, origin=0x080FF000, size=8192)}, "memory.ram: overlaps memory.flash"),
        (
            {"ram": replace(RAM, origin=0xFFFFF000, size=8192)},
            "memory.ram: ends beyond the 4 GiB of addresses",
        ),
    ],
)
def test_what_cannot_be_leaves_nothing(change: dict[str, object], message: str, tmp_path: Path):
    wanted = {"cpu": "cortex-m4", "fpu": None, "flash": FLASH, "ram": RAM, **change}
    with pytest.raises(UsageError) as error:
        make_board("mine", tmp_path, **wanted)  # type: ignore[arg-type]
    assert error.value.message == message
    assert list(tmp_path.iterdir()) == []


def test_names(tmp_path: Path):
    wanted = {"cpu": "cortex-m4", "fpu": None, "flash": FLASH, "ram": RAM}
    make_board("mine", tmp_path, **wanted)  # type: ignore[arg-type]
    with pytest.raises(Exists):
        make_board("mine", tmp_path, **wanted)  # type: ignore[arg-type]
    for name in ("", "../up", "a b", "Big"):
        with pytest.raises(BadName):
            make_board(name, tmp_path, **wanted)  # type: ignore[arg-type]


def test_clocks_are_hertz(tmp_path: Path):
    assert [parse_hertz(text) for text in ("100M", "32_768", "64k")] == [100_000_000, 32768, 64000]
    for text in ("", "0", "fast", "1G", "1.5M", "99999M"):
        with pytest.raises(BadClock):
            parse_hertz(text)
    wanted = {"cpu": "cortex-m4", "fpu": None, "flash": FLASH, "ram": RAM}
    folder = make_board("mine", tmp_path, hertz=100_000_000, **wanted)  # type: ignore[arg-type]
    clock = read_board(folder).table(ClockTable)
    assert clock is not None and clock.hertz == 100_000_000


def test_tables_that_are_comments_are_valid_without_their_sign(tmp_path: Path):
    wanted = {"cpu": "cortex-m4", "fpu": None, "flash": FLASH, "ram": RAM}
    folder = make_board("mine", tmp_path, **wanted)  # type: ignore[arg-type]
    file = folder / "board.toml"
    table = re.compile(r"^# (\[.*\]$|\w+ = .*)", re.MULTILINE)
    text = file.read_text()
    assert table.search(text)
    # No machine of QEMU has a name that a comment can give.
    file.write_text(table.sub(r"\1", text.partition("# What executes")[0]))
    board = read_board(folder)
    methods = flashing(board)
    assert methods is not None and list(methods.methods) == ["probe-rs", "pyocd", "openocd"]
    assert board.uart is not None and board.table(ClockTable) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0x20000000", "'' is not a size"),
        ("256K", "'256K' is not an address"),
        ("0x20000000:256k", "'256k' is not a size"),
        ("-1:4K", "'-1' is not an address"),
    ],
)
def test_memory_is_origin_and_size(text: str, problem: str):
    assert parse_memory(Memory.RAM, "0x20000000:256K") == RAM
    assert parse_memory(Memory.FLASH, "0:4096") == replace(FLASH, origin=0, size=4096)
    with pytest.raises(BadMemory, match=problem):
        parse_memory(Memory.RAM, text)

"""Which simulators a new board gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.boards.memory import Memory, Region
from cmbuild.boards.template import make_board
from cmbuild.catalog import find_board, read_board, shipped_boards
from cmbuild.launchers.matching import launcher_tables
from cmbuild.launchers.registry import launchers_of
from cmcompiler.target import BEST_ISA


@pytest.mark.parametrize(
    ("cpu", "flash", "ram", "names"),
    [
        ("cortex-m4", (0x08000000, 1 << 20), (0x20000000, 128 << 10), ["netduinoplus2", "Unicorn"]),
        ("cortex-m4", (0x08000000, 2 << 20), (0x20000000, 128 << 10), ["Unicorn"]),
        ("cortex-m0plus", (0, 256 << 10), (0x20000000, 16 << 10), ["microbit", "Unicorn"]),
        ("cortex-m0plus", (0x10000000, 256 << 10), (0x20000000, 16 << 10), ["Unicorn"]),
        ("cortex-m23", (0, 256 << 10), (1 << 29, 16 << 10), ["Unicorn, M23 image on an M33 model"]),
        ("cortex-m55", (0x10000000, 512 << 10), (0x20000000, 512 << 10), ["mps3-an547"]),
        (
            "cortex-m85",
            (0x02000000, 2 << 20),
            (0x22000000, 896 << 10),
            ["mps3-an547, M85 image on an M55 model, linked for its memory"],
        ),
        ("cortex-m55", (0x02000000, 128 << 20), (0x22000000, 896 << 10), []),
        ("cortex-m33", (0x100, 4096), (0x40000100, 4096), ["Unicorn"]),
    ],
)
def test_simulators_with_the_memory(
    cpu: str, flash: tuple[int, int], ram: tuple[int, int], names: list[str], tmp_path: Path
) -> None:
    regions = Region("flash", Memory.FLASH, *flash), Region("ram", Memory.RAM, *ram)
    tables = launcher_tables(cpu, regions, shipped_boards())
    folder = make_board(
        "mine", tmp_path, cpu=cpu, fpu=None, flash=regions[0], ram=regions[1], launchers=tables
    )
    launchers = launchers_of(read_board(folder))
    assert [launcher.title.removeprefix("QEMU ") for launcher in launchers] == names


@pytest.mark.parametrize(
    ("cpu", "flash", "boots"),
    [
        ("cortex-m4", (0x0, 1 << 20), "vectors"),
        ("cortex-m33", (0x10000000, 1 << 20), "vectors"),
        ("cortex-m33", (0x0, 630 << 10), "entry"),
        ("cortex-m7", (0x60000000, 4 << 20), "entry"),
    ],
)
def test_images_start_where_the_machine_does_not_look_for_vectors(
    cpu: str, flash: tuple[int, int], boots: str
) -> None:
    regions = Region("flash", Memory.FLASH, *flash), Region("ram", Memory.RAM, 1 << 29, 1 << 15)
    tables = launcher_tables(cpu, regions, shipped_boards())
    assert ('boots = "entry"' in tables) == (boots == "entry")
    assert "[launchers.qemu]" in tables


def test_what_a_machine_has_elsewhere_is_moved_to_the_smallest_region_that_holds_it(
    tmp_path: Path,
) -> None:
    flash = Region("flash", Memory.FLASH, 0x02000000, 2 << 20)
    ram = Region("ram", Memory.RAM, 0x22000000, 896 << 10)
    tables = launcher_tables("cortex-m55", (flash, ram), shipped_boards())
    make_board("b", tmp_path, cpu="cortex-m55", fpu=None, flash=flash, ram=ram, launchers=tables)
    board = read_board(tmp_path / "b")
    (launcher,) = launchers_of(board)
    corstone = find_board("corstone300").regions
    places = {"flash": corstone["qspi"].origin, "ram": corstone["bram"].origin}
    assert launcher.moves == places
    moved = board.moved(launcher.moves)
    assert {name: region.origin for name, region in moved.regions.items()} == places
    assert {r.size for r in moved.regions.values()} == {flash.size, ram.size}


@pytest.mark.parametrize("cpu", BEST_ISA)
def test_every_core_gets_a_board_that_can_be_read(cpu: str, tmp_path: Path) -> None:
    regions = Region("flash", Memory.FLASH, 0, 1 << 16), Region("ram", Memory.RAM, 1 << 29, 1 << 15)
    tables = launcher_tables(cpu, regions, shipped_boards())
    make_board("b", tmp_path, cpu=cpu, fpu=None, flash=regions[0], ram=regions[1], launchers=tables)
    assert bool(launchers_of(read_board(tmp_path / "b"))) == bool(tables)

"""Every board's image, with any link script, is laid out as in board.toml."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from harness.toy_image import write_toy_model

from cmbuild.boards.board import Board
from cmbuild.boards.link_script import FILE, render
from cmbuild.boards.memory import Memory, Region
from cmbuild.catalog import find_board, read_board
from cmcompiler.target import BEST_ISA

BOARDS = {
    "corstone300": (8 << 20) + (512 << 10),
    "nrf52840dk": 1 << 20,
    "nucleo-h743zi": 2 << 20,
}
"""Flash bytes of the tested boards."""


def check(image: Path, board: Board) -> None:
    """Asserts that segments, sections and symbols are at the board's addresses."""
    layout, regions = board.layout, board.regions
    assert layout is not None
    with image.open("rb") as stream:
        file = ELFFile(stream)
        loads = [s for s in file.iter_segments("PT_LOAD") if s["p_memsz"]]
        sections = {s.name: (s["sh_addr"], s["sh_size"]) for s in file.iter_sections()}
        table = file.get_section_by_name(".symtab")
        symbols = {s.name: s["st_value"] for s in table.iter_symbols()}
        entry = file["e_entry"]
    for segment in loads:
        assert board.region_at(segment["p_vaddr"], segment["p_memsz"]), segment.header
        if segment["p_filesz"]:
            flash = board.region_at(segment["p_paddr"], segment["p_filesz"])
            assert flash is not None and flash.kind is Memory.FLASH
    places = {
        **dict.fromkeys((".text", ".rodata"), layout.code),
        ".weights": layout.constants,
        **dict.fromkeys((".stack", ".bss"), layout.data),
        ".arena": layout.arena,
    }
    for name, region in places.items():
        if name in sections and sections[name][1]:
            assert regions[region].holds(*sections[name]), name
    assert sections[".vectors"][0] == regions[layout.code].origin
    assert entry == symbols["cm_reset"]
    assert symbols["cm_stack_top"] - symbols["cm_stack_limit"] == board.stack
    assert regions[layout.workspace or layout.arena].end == symbols["cm_workspace_end"]


@pytest.mark.parametrize(("name", "flash"), BOARDS.items())
def test_an_image_is_where_the_board_has_memory(name, flash, bench, tmp_path):
    place = bench(name, BEST_ISA[find_board(name).cpu].label)
    model = write_toy_model(tmp_path / "model", weights=1000)
    assert place.board.capacity(Memory.FLASH) == flash
    check(place.builder.runner(place.board, place.library, model, tmp_path / "build"), place.board)


def test_so_is_one_that_the_boards_own_script_links(bench, tmp_path):
    place = bench("nrf52840dk", "dsp")
    folder = Path(shutil.copytree(place.board.folder, tmp_path / "mine"))
    script = render(place.board).replace("ALIGN(16)", "ALIGN(64)")
    (folder / FILE).write_text(script)
    board = read_board(folder)
    model = write_toy_model(tmp_path / "model", weights=1000)
    image = place.builder.runner(board, place.library, model, tmp_path / "build")
    check(image, board)
    with image.open("rb") as stream:
        assert ELFFile(stream).get_section_by_name(".weights")["sh_addralign"] == 64


def test_the_template_has_all_of_the_boards_regions(tmp_path):
    board = find_board("corstone300")
    script = render(replace(board, stack=0x1234))
    for region in board.regions.values():
        assert (
            f"{region.name} : ORIGIN = 0x{region.origin:08x}, LENGTH = 0x{region.size:x}" in script
        )
    assert "cm_stack_bytes = 0x1234;" in script


def test_memory_at_address_0_is_known_to_the_image():
    """Otherwise a guard would block it, unless it holds only the vectors."""
    board = find_board("nucleo-h743zi")
    assert "cm_null_in_use" not in render(board)
    itcm = Region("itcm", Memory.FLASH, 0, 64 << 10)
    hot = replace(
        board,
        regions={**board.regions, "itcm": itcm},
        layout=board.layout.model_copy(update={"constants": "itcm"}),
    )
    assert "cm_null_in_use = 1;" in render(hot)

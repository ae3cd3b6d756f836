"""Packages in firmware: two models and two instances of one, with every compiler."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.packages import documented, firmware, foreign_symbols, on_this_computer, run, simulate
from harness.sources import ROOT

from cmbuild.catalog import find_board

Packages = Callable[[str], list[Path]]


@pytest.mark.parametrize(
    ("board", "toolchain"),
    [
        ("corstone300", "gcc"),
        pytest.param("microbit", "zig", marks=pytest.mark.long),
        pytest.param("corstone300", "clang", marks=pytest.mark.long),
        pytest.param("corstone300", "zig", marks=pytest.mark.long),
        pytest.param("microbit", "gcc", marks=pytest.mark.long),
        pytest.param("microbit", "clang", marks=pytest.mark.long),
    ],
)
def test_two_models_and_two_instances_share_an_image(
    board: str, toolchain: str, packages: Packages, tmp_path: Path
) -> None:
    """One model runs in an interrupt of the other; strict warnings are errors."""
    made = packages(find_board(board).cpu)
    printed = simulate(firmware(tmp_path, made, "main.c", board, toolchain), board)
    assert "cmrt interrupts 14\ncmrt wrong 0\n" in printed
    assert printed.endswith("cmrt end 0\n")
    for folder in made:
        archive = tmp_path / "out" / folder.name / f"lib{folder.name}.a"
        assert foreign_symbols(archive, folder.name) == []


def test_two_models_share_an_image_in_cpp(packages: Packages, tmp_path: Path) -> None:
    made = packages(find_board("corstone300").cpu)
    image = firmware(tmp_path, made, "main.cpp", "corstone300")
    printed = simulate(image, "corstone300")
    assert "cmrt right\n" in printed and "cmrt end 0\n" in printed


@pytest.mark.long
def test_a_package_may_have_its_own_arena(cmbuild: Commands) -> None:
    words = ("--as", "source", "--isa", "scalar", "--name", "still", "-o", "still")
    assert cmbuild("package", NETWORK, *words).exit_code == 0
    option = "-DSTILL_STATIC_ARENA"
    printed = on_this_computer(cmbuild.folder, cmbuild.folder / "still", "static.c", option)
    assert printed == "0 wrong\n"


def test_rows_come_in_pieces(cmbuild: Commands) -> None:
    words = ("--as", "source", "--isa", "scalar", "--feed", "rows", "--name", "fed", "-n", "2")
    assert cmbuild("package", NETWORK, *words, "-o", "fed").exit_code == 0
    assert on_this_computer(cmbuild.folder, cmbuild.folder / "fed", "rows.cpp") == "0 wrong\n"


def test_rows_of_an_output_are_handed_out(cmbuild: Commands) -> None:
    words = ("--as", "source", "--isa", "scalar", "--feed", "rows", "--name", "seg", "-n", "3")
    assert cmbuild("package", PROGRAMS / "image.pte", *words, "-o", "seg").exit_code == 0
    assert on_this_computer(cmbuild.folder, cmbuild.folder / "seg", "taken.c") == "0 wrong\n"


def test_quantised_ports_have_functions_that_convert(cmbuild: Commands) -> None:
    words = ("--as", "source", "--isa", "scalar", "--io", "int8", "--name", "small")
    assert cmbuild("package", NETWORK, *words, "-o", "small").exit_code == 0
    printed = on_this_computer(cmbuild.folder, cmbuild.folder / "small", "steps.c")
    assert printed.startswith("0 wrong, ")


def test_the_example_of_the_documents_works(cmbuild: Commands) -> None:
    text = (ROOT / "docs" / "packages.md").read_text()
    (cmbuild.folder / "example.c").write_text(documented("example"))
    (cmbuild.folder / "kws.pte").write_bytes(NETWORK.read_bytes())
    words = re.findall(r"^cmbuild (package kws\.pte .*)$", text, re.MULTILINE)[0].split()
    # The page's own command, with kernels that this computer has, too.
    made = cmbuild(*words, "--isa", "scalar")
    assert made.exit_code == 0, made.stderr
    printed = on_this_computer(cmbuild.folder, cmbuild.folder / "kws", cmbuild.folder / "example.c")
    assert re.fullmatch(r"(-?\d\.\d{3} ){3}as the reference\n", printed)
    (cmbuild.folder / "interrupt.c").write_text(documented("interrupt"))
    words = ("-c", cmbuild.folder / "interrupt.c", "-o", cmbuild.folder / "interrupt.o")
    run(*COMPILERS["thumb-2"], "-I", cmbuild.folder / "kws", *words)


C99 = (
    *("-std=c99", "-pedantic", "-O1", "-Werror", "-Wall", "-Wextra", "-ffp-contract=off"),
    "-D__asm=assembly_is_left",
)
"""Anything in assembly is a syntax error."""

COMPILERS = {
    "gcc": ("gcc", *C99),
    "clang": ("clang-19", *C99),
    "thumb-1": ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", *C99),
    "thumb-2": ("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", *C99),
    "fpu": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mthumb", *C99),
}


def test_packages_may_be_plain_c(cmbuild: Commands) -> None:
    """Without files of bytes and assembly; the outputs are the reference's."""
    words = ("--isa", "scalar", "--constants", "c", "--name", "still", "-o", "still")
    made = cmbuild("package", NETWORK, "--target", "cortex-m3", *words)
    assert made.exit_code == 0, made.stderr
    package = cmbuild.folder / "still"
    assert not [file for file in package.rglob("*") if file.suffix in (".S", ".bin")]
    assert "ASM" not in (package / "CMakeLists.txt").read_text()
    files = [*package.glob("*.c"), *package.glob("runtime/*.c")]
    for compiler in COMPILERS.values():
        if shutil.which(compiler[0]) is None:
            continue
        run(*compiler, "-fsyntax-only", f"-I{package}", *files)
    option = "-DSTILL_STATIC_ARENA"
    assert on_this_computer(cmbuild.folder, package, "static.c", option) == "0 wrong\n"

"""What is counted of a library is what a linker takes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild.sizing.archive import Archive, taken

SOURCE = """\
extern int other(int);
int table[64] = {1};
static int counter[32];
const char text[100] = "x";
static int inner(int a) { return other(a) + table[a]; }
int outer(int a) { return inner(a) + text[a]; }
int counted(int a) { return counter[a]++; }
int alone(int a) { return a * 3; }
"""
OTHER = "int lost(int); int other(int a) { return a + 5; } int far(int a) { return lost(a); }"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    (folder / "first.c").write_text(SOURCE)
    (folder / "second_with_a_long_name.c").write_text(OTHER)
    flags = ("-mcpu=cortex-m4", "-mthumb", "-O2", "-ffunction-sections", "-fdata-sections")
    for source in folder.glob("*.c"):
        subprocess.run(["arm-none-eabi-gcc", *flags, "-c", source], cwd=folder, check=True)
    objects = sorted(path.name for path in folder.glob("*.o"))
    subprocess.run(["arm-none-eabi-ar", "rcs", "lib.a", *objects], cwd=folder, check=True)
    return folder / "lib.a"


def linked(library: Path, *roots: str) -> tuple[int, int]:
    """Bytes of code and of variables that ld takes."""
    image = library.with_name("image.elf")
    options = ["-nostdlib", "-Wl,--gc-sections", "-Wl,-e,0", *(f"-Wl,-u,{name}" for name in roots)]
    subprocess.run(["arm-none-eabi-gcc", *options, library, "-o", image], check=True)
    said = subprocess.run(
        ["arm-none-eabi-size", image], check=True, capture_output=True, text=True
    ).stdout
    text, data, bss = map(int, said.splitlines()[1].split()[:3])
    return text + data, data + bss


@pytest.mark.parametrize("roots", [("alone",), ("other",), ("counted",), ("outer", "counted")])
def test_it_is_what_the_linker_takes(roots: tuple[str, ...], library: Path) -> None:
    found = taken(roots, [Archive(library)])
    code, variables = linked(library, *roots)
    assert found.missing == frozenset()
    assert code <= found.code <= code + 16
    assert variables <= found.variables <= variables + 16


def test_what_no_library_has(library: Path) -> None:
    assert taken(["far", "nowhere"], [Archive(library)]).missing == {"lost", "nowhere"}


def test_what_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "lib.a").write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match="no archive"):
        Archive(tmp_path / "lib.a")

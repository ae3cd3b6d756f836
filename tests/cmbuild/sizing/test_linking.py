"""What is counted of a library is what a linker takes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild.errors import ProcessFailed
from cmbuild.process import Processes
from cmbuild.sizing.linking import Linked, link
from cmbuild.toolchain.toolchains import CROSS, find_toolchain
from cmcompiler.isa import Isa
from cmcompiler.target import Target

SOURCE = """\
extern int other(int);
int table[64] = {1};
static int counter[32];
const char text[100] = "x";
static int inner(int a) { return other(a) + table[a]; }
int outer(int a) { return inner(a) + text[a]; }
int counted(int a) { return counter[a]++; }
int cm_isa_alone(int a) { return a * 3; }
"""
OTHER = "int lost(int); int other(int a) { return a + 5; } int far(int a) { return lost(a); }"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "first.c").write_text(SOURCE)
    (folder / "second_with_a_long_name.c").write_text(OTHER)
    flags = ("-mcpu=cortex-m4", "-mthumb", "-O2", "-ffunction-sections", "-fdata-sections")
    flags += ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    for source in folder.glob("*.c"):
        subprocess.run(["arm-none-eabi-gcc", *flags, "-c", source], cwd=folder, check=True)
    objects = sorted(path.name for path in folder.glob("*.o"))
    subprocess.run(["arm-none-eabi-ar", "rcs", "lib.a", *objects], cwd=folder, check=True)
    return folder / "lib.a"


def linked(library: Path, names: tuple[str, ...], folder: Path, compiler: str = "gcc") -> Linked:
    processes, log = Processes(), folder / "log"
    toolchain = find_toolchain(compiler, processes, log)
    target = Target.parse("cortex-m4", "dsp")
    assert target.isa is Isa.DSP
    return link([library], names, toolchain, target, processes=processes, log=log)


def size(library: Path, *roots: str) -> tuple[int, int]:
    """Bytes of code and of variables in an image with some functions."""
    image = library.with_name("image.elf")
    options = ["-nostdlib", "-Wl,--gc-sections", "-Wl,-e,0", *(f"-Wl,-u,{name}" for name in roots)]
    subprocess.run(["arm-none-eabi-gcc", *options, library, "-o", image], check=True)
    said = subprocess.run(
        ["arm-none-eabi-size", image], check=True, capture_output=True, text=True
    ).stdout
    text, data, bss = map(int, said.splitlines()[1].split()[:3])
    return text + data, data + bss


@pytest.mark.parametrize("compiler", CROSS)
@pytest.mark.parametrize(
    "roots", [("cm_isa_alone",), ("other",), ("counted",), ("outer", "counted")]
)
def test_it_is_what_the_linker_takes(
    roots: tuple[str, ...], compiler: str, library: Path, tmp_path: Path
) -> None:
    actual = linked(library, (*roots, "nowhere"), tmp_path, compiler)
    code, variables = size(library, *roots)
    assert code <= actual.code <= code + 16
    assert variables <= actual.variables <= variables + 16
    assert actual.hot == (code if roots == ("cm_isa_alone",) else 0)


def test_what_no_library_has_counts_nothing(library: Path, tmp_path: Path) -> None:
    code, _ = size(library, "other")
    actual = linked(library, ("far", "nowhere"), tmp_path)
    assert (0 < actual.code <= code + 16, actual.variables) == (True, 0)


def test_what_is_not_a_library(tmp_path: Path) -> None:
    (tmp_path / "lib.a").write_bytes(b"\x7fELF")
    with pytest.raises(ProcessFailed):
        linked(tmp_path / "lib.a", ("other",), tmp_path)

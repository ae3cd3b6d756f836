"""Packages with other compilers: no warning of the documented set, and the same outputs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.packages import firmware, run, simulate
from harness.sources import ROOT

Packages = Callable[[str], list[Path]]

OTHERS = os.environ.get("CMBUILD_COMPILERS", "")
"""Further gccs for Arm, of any version, separated as in PATH; they need no C library."""

NEWLIB = Path("/usr/include/newlib")
BOARDS = {"cortex-m55": "corstone300", "cortex-m33": "mps2-an505", "cortex-m0plus": "microbit"}
FPUS = {
    "cortex-m55": ("-mfloat-abi=hard",),
    "cortex-m33": ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
}
TRIPLES = {
    "cortex-m55": "thumbv8.1m.main-none-eabihf",
    "cortex-m33": "thumbv8m.main-none-eabihf",
    "cortex-m0plus": "thumbv6m-none-eabi",
}
GCC_ELSEWHERE = ("-fno-pic", "-fno-pie", "-fshort-enums", "-fno-stack-protector", "-ffreestanding")
"""What compilers for Arm Linux do otherwise."""


def warnings() -> list[str]:
    """The set that docs/packages.md names."""
    text = (ROOT / "docs" / "packages.md").read_text()
    (words,) = re.findall(r"There are no warnings with\n`(.*?)`", text)
    return [*str(words).split(), "-Werror"]


def compiler(path: str, core: str) -> list[str]:
    fpu = FPUS.get(core, ("-mfloat-abi=soft",))
    words = [path, f"-mcpu={core}", "-mthumb", *fpu, "-ffp-contract=off", "-fno-math-errno"]
    if "clang" in Path(path).name:
        words.insert(1, f"--target={TRIPLES[core]}")
        return [*words, "-fno-vectorize", "-fno-slp-vectorize", "-isystem", str(NEWLIB)]
    words.append("-fno-tree-vectorize")
    if "none" in Path(path).name and path == Path(path).name:
        return words
    return [*words, *GCC_ELSEWHERE, "-isystem", str(NEWLIB)]


def compilers() -> Iterator[str]:
    """All that are installed, by their programs' names, and those of $CMBUILD_COMPILERS."""
    names = (
        "arm-none-eabi-gcc",
        "clang-19",
        *(f"arm-linux-gnueabihf-gcc-{n}" for n in range(10, 16)),
    )
    yield from (name for name in names if shutil.which(name) is not None)
    yield from filter(None, OTHERS.split(os.pathsep))


def has_helium(name: str, folder: Path) -> bool:
    (folder / "helium.c").write_text("#include <arm_mve.h>\n")
    words = [*compiler(name, "cortex-m55"), "-fsyntax-only", str(folder / "helium.c")]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def sources(package: Path) -> list[Path]:
    return [*sorted(package.glob("*.[cS]")), *sorted(package.glob("runtime/*.c"))]


@pytest.mark.parametrize(
    "name", ["arm-none-eabi-gcc", pytest.param("clang-19", marks=pytest.mark.long)]
)
def test_there_are_no_warnings(name: str, packages: Packages) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    for package in packages("cortex-m55"):
        files = [file for file in sources(package) if file.suffix == ".c"]
        checked = [*warnings(), "-std=c11", "-fsyntax-only", f"-I{package}"]
        run(*compiler(name, "cortex-m55"), *checked, *files)


@pytest.mark.long
@pytest.mark.parametrize("core", BOARDS)
@pytest.mark.parametrize("name", [*compilers()], ids=lambda name: Path(name).name)
def test_every_compiler_makes_the_same_outputs(
    name: str, core: str, packages: Packages, tmp_path: Path
) -> None:
    """The package alone is its work: the rest of the image is gcc's."""
    if core == "cortex-m55" and not has_helium(name, tmp_path):
        pytest.skip(f"{name} lacks arm_mve.h")
    made, objects = packages(core), []
    for package in made:
        for file in sources(package):
            objects.append(tmp_path / f"{package.name}_{file.name}.o")
            options = [*warnings(), "-std=c11", "-Os", f"-I{package}"]
            run(*compiler(name, core), *options, "-c", file, "-o", objects[-1])
    linked = " ".join(f'"{file}"' for file in objects)
    folders = " ".join(f'"{package}"' for package in made)
    after = f"target_sources(firmware PRIVATE {linked})\n"
    after += f"target_include_directories(firmware PRIVATE {folders})"
    image = firmware(tmp_path, [], "main.c", BOARDS[core], after=after)
    printed = simulate(image, BOARDS[core])
    assert "cmrt wrong 0\n" in printed and printed.endswith("cmrt end 0\n")

"""The samples' own code on this computer, under sanitizers: it knows nothing of Zephyr."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import libraries
from harness.console import assert_console
from harness.exports import exported
from harness.zephyr import ROOT, SAMPLES

from cmbuild.catalog import find_board
from cmcompiler.target import Target

Packager = Callable[..., Path]

RUNTIME = ROOT / "runtime"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-std=c11"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def library() -> Path:
    """The runtime's for this computer."""
    board = find_board("native")
    return libraries.library(libraries.builder(board.toolchain, Target.parse(board.cpu, "scalar")))


def run(sample: str, package: Path, library: Path, folder: Path) -> str:
    """Links an application with the board of this computer, in place of Zephyr, and runs it."""
    program = folder / "application"
    sources = [
        *(SAMPLES / sample / "src").glob("*.c"),
        *(path for path in package.iterdir() if path.suffix in (".c", ".S")),
        RUNTIME / "runner" / "program.c",
        RUNTIME / "vectors" / "match.c",
        *(ROOT / "boards" / "native").glob("*.c"),
    ]
    includes = [f"-I{package}", f"-I{RUNTIME / 'include'}", f"-I{ROOT / 'zephyr/include'}"]
    words = ["cc", *WARNINGS, *SANITIZERS, *includes, *sources, library, "-lm", "-o", program]
    built = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False, cwd=package
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hello(tmp_path: Path, package: Packager, library: Path) -> None:
    made = package(SAMPLES / "hello" / "add.pte", "--isa", "scalar", "--name", "hello")
    assert_console("hello", run("hello", made, library, tmp_path))


def test_digits(tmp_path: Path, package: Packager, library: Path) -> None:
    folder = exported("digits")[0]
    inputs = ("--input", folder / "samples.npz", "-n", "100")
    made = package(folder / "model.pte", "--isa", "scalar", "--name", "digits", *inputs)
    assert_console("digits", run("digits", made, library, tmp_path))


def test_digits_tells_what_is_wrong(tmp_path: Path, package: Packager, library: Path) -> None:
    """Labels and expected outputs that are not those of the samples."""
    folder = exported("digits")[0]
    inputs = ("--input", folder / "samples.npz", "-n", "3")
    made = package(folder / "model.pte", "--isa", "scalar", "--name", "digits", *inputs)
    source = (made / "digits_vectors.c").read_text()
    source = re.sub(r"(labels\[\] = \{\n)\s*\d+,", r"\1    77,", source)
    assert "    77," in source
    (made / "digits_vectors.c").write_text(source)
    data = bytearray((made / "digits_vectors.bin").read_bytes())
    data[-8 - 3] ^= 0x40  # 3 × 10 floats are followed by 8 bytes
    (made / "digits_vectors.bin").write_bytes(data)
    with pytest.raises(AssertionError, match=r"accuracy: 2 of 3 digits\s+verified: 2 of 3 "):
        run("digits", made, library, tmp_path)

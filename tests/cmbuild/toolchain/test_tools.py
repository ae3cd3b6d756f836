"""Programs: found, asked for their version, and judged."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.clang import CLANG
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmbuild.toolchain.compilers.zig import ZIG
from cmbuild.toolchain.tools import CMAKE, QEMU


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205", "12.2.1"),
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "7.2.22"),
        ("cmake version 3.25.1\n\nCMake suite maintained and supported by Kitware", "3.25.1"),
        ("1.13.2.git.kitware.jobserver-pipe-1", "1.13.2"),
        ("no number", None),
    ],
)
def test_version_is_the_programs_own(tmp_path: Path, says: str, version: str | None):
    assert tools.version(program(tmp_path, "tool", f"cat <<'END'\n{says}\nEND")) == version


def test_a_program_that_fails_has_no_version(tmp_path: Path):
    assert tools.version(program(tmp_path, "tool", "echo 1.2.3; exit 1")) is None
    assert tools.version(tmp_path / "none") is None


def test_a_program_beside_the_interpreter_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    beside, path = tmp_path / "beside", tmp_path / "path"
    for folder in (beside, path):
        folder.mkdir()
        program(folder, "both", "")
    only = program(path, "only", "")
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    monkeypatch.setenv("PATH", str(path))
    assert tools.find("both") == beside / "both"
    assert tools.find("only") == only
    assert tools.find("neither") is None


def test_old_programs_are_named_as_such(tmp_path: Path):
    cmake = program(tmp_path, "cmake", "")
    assert tools.problem(CMAKE, cmake, "3.22.1") == "too old, needs 3.25"
    assert tools.problem(CMAKE, cmake, "3.25.1") is None
    assert tools.problem(CMAKE, cmake, "4.0") is None
    assert tools.problem(QEMU, cmake, None) == "does not run"


def test_the_real_compiler_links_with_newlib():
    gcc = tools.find(ARM_GCC.name)
    assert gcc is not None
    assert tools.problem(ARM_GCC, gcc, tools.version(gcc)) is None


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("main.c:3: fatal error: math.h: No such file or directory", "without newlib"),
        ("ld: cannot find -lm: No such file or directory", "without newlib"),
        ("unrecognized -mcpu target: cortex-m55", "cannot build for cortex-m55"),
    ],
)
def test_a_compiler_must_build_a_program(tmp_path: Path, says: str, problem: str):
    gcc = program(tmp_path, "arm-none-eabi-gcc", f"echo '{says}'; exit 1")
    assert tools.problem(ARM_GCC, gcc, "12.2.1") == problem


def test_install_command_is_ready_to_paste(monkeypatch: pytest.MonkeyPatch):
    packages = "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert tools.install_command(ARM_GCC, QEMU) == packages
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert tools.install_command(ARM_GCC, QEMU) == f"sudo {packages}"


def test_the_first_name_of_a_tool_that_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parts = "case $1 in -print-prog-name=*) echo /bin/ld.lld;; *) echo clang version {};; esac"
    old = program(tmp_path, "clang", parts.format("14.0.6"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    program(tmp_path, "arm-none-eabi-gcc", "")
    assert tools.find_tool(CLANG) == old
    newer = program(tmp_path, "clang-20", parts.format("20.1.0"))
    program(tmp_path, "clang-19", parts.format("19.1.7"))
    assert tools.find_tool(CLANG) == newer
    assert tools.problem(CLANG, old, "14.0.6") == "too old, needs 19"
    bare = program(tmp_path, "clang-22", "echo 22.1.0")
    assert tools.problem(CLANG, bare, "22.1.0") == "without lld"
    (tmp_path / "arm-none-eabi-gcc").unlink()
    assert tools.problem(CLANG, newer, "20.1.0") == (
        "without a C library: newlib comes with arm-none-eabi-gcc"
    )


def test_zig_comes_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    zig = tools.find_tool(ZIG)
    assert zig is not None and zig.parent.name == "ziglang"
    assert tools.problem(ZIG, zig, tools.version(zig, *ZIG.asking)) is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.find_tool(ZIG) is None

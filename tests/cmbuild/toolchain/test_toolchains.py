"""Compilers are found, and refused where they cannot build."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.process import Processes
from cmbuild.toolchain import toolchains
from cmbuild.toolchain.toolchains import UnusableTool, find_toolchain


@pytest.mark.parametrize(
    ("name", "program", "says"),
    [
        ("gcc", "arm-none-eabi-gcc", "arm-none-eabi-gcc (GNU Tools) 4.9.3"),
        ("clang", "clang", "clang version 14.0.6"),
    ],
)
def test_what_the_doctor_calls_too_old_is_not_used(
    name: str, program: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "bin" / program
    compiler.parent.mkdir()
    compiler.write_text(f"#!/bin/sh\necho '{says}'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent))
    with pytest.raises(UnusableTool, match="too old") as error:
        find_toolchain(name, Processes(), tmp_path / "log")
    assert "install" in str(error.value.hint)


@pytest.mark.parametrize(
    ("there", "asked", "chosen"),
    [
        ({"gcc", "zig"}, "gcc", "gcc"),
        ({"zig"}, "gcc", "zig"),
        ({"clang"}, "gcc", "gcc"),
        (set(), "gcc", "gcc"),
        ({"zig"}, toolchains.HOST, toolchains.HOST),
    ],
)
def test_the_compiler_from_pypi_stands_in(
    monkeypatch: pytest.MonkeyPatch, there: set[str], asked: str, chosen: str
) -> None:
    compilers = {toolchains.TOOLCHAINS[name].compiler for name in there}
    monkeypatch.setattr(
        toolchains.tools, "find_tool", lambda tool: Path("x") if tool in compilers else None
    )
    assert toolchains.installed(asked) == chosen

"""The plugin that counts blocks: compiled once, remade if damaged, refused in a few words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cmbuild.cycles import plugin
from cmbuild.cycles.plugin import NoCounter, block_profile
from cmbuild.process import Processes
from cmbuild.toolchain import tools

QEMU = Path(shutil.which("qemu-system-arm") or "qemu-system-arm")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))


def test_it_is_compiled_once_and_remade_if_it_is_damaged() -> None:
    compilations: list[str] = []
    processes = Processes(lambda line: compilations.append(line) if "-shared" in line else None)
    first = block_profile(QEMU, processes)
    assert first.read_bytes()[:4] == b"\x7fELF"
    assert block_profile(QEMU, processes) == first
    assert len(compilations) == 1
    first.write_bytes(b"\x7fELF")
    assert block_profile(QEMU, processes).stat().st_size > 1_000
    assert len(compilations) == 2


def test_it_compiles_without_warnings(tmp_path: Path) -> None:
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wconversion"]
    tools = plugin.paths.runtime() / "tools"
    sources = [tools / "block_profile.c", tools / "flash_reads.c"]
    log = tmp_path / "log.txt"
    Processes().run(["cc", *flags, *sources, "-o", tmp_path / "x.so"], log=log, timeout=60)


def test_a_machine_without_a_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_tool", lambda tool: None)
    with pytest.raises(NoCounter, match="not found"):
        block_profile(QEMU, Processes())


def test_a_compiler_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no space >&2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(tools, "find_tool", lambda tool: compiler)
    with pytest.raises(NoCounter, match="cc"):
        block_profile(QEMU, Processes())


def test_a_simulator_without_plugins_is_told(tmp_path: Path) -> None:
    qemu = tmp_path / "qemu-system-arm"
    qemu.write_text("#!/bin/sh\necho QEMU emulator version 6.2.0\n")
    qemu.chmod(0o755)
    with pytest.raises(NoCounter, match=r"QEMU 6\.2\.0 was built without plugins"):
        block_profile(qemu, Processes())


@pytest.mark.parametrize(
    ("version", "api"), [("6.2.0", 1), ("8.2.2", 1), ("9.0.0", 2), ("10.1", 2), ("0", 1)]
)
def test_the_api_version_follows_the_simulator(version: str, api: int) -> None:
    assert plugin.api_version(version) == api

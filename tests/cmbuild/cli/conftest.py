"""The command line in a folder of each test's own, with libraries built once for all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import Commands


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


@pytest.fixture
def fake_qemu(cmbuild: Commands, tmp_path: Path) -> Callable[[str], Commands]:
    """cmbuild with a shell script in place of QEMU's simulation; what QEMU can do, itself says."""
    qemu = shutil.which("qemu-system-arm")

    def install(script: str) -> Commands:
        bin = tmp_path / "bin"
        bin.mkdir()
        program = bin / "qemu-system-arm"
        program.write_text(f'#!/bin/sh\n[ "$1" != -help ] || exec {qemu} -help\n{script}\n')
        program.chmod(0o755)
        path = f"{bin}:{cmbuild.variables['PATH']}"
        variables = {"PATH": path, "FAKE_PID": str(tmp_path / "pid")}
        return replace(cmbuild, environment={**cmbuild.environment, **variables})

    return install

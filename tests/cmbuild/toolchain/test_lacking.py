"""What a fresh machine lacks, by the names that its package managers know."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from cmbuild.toolchain import lacking

ROOT = Path(__file__).parents[3]


def test_what_is_lacking_is_named_as_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert lacking.packages() == [
        "gcc-arm-none-eabi",
        "libnewlib-arm-none-eabi",
        "qemu-system-arm",
        "gcc",
        "libc6-dev",
        f"python3.{sys.version_info.minor}-venv",
    ]
    for_tests = set(lacking.test_packages()) - set(lacking.packages())
    assert for_tests == {
        "clang-19",
        "lld-19",
        "libstdc++-arm-none-eabi-newlib",
        "ccache",
        "zsh",
        "fish",
    }
    assert lacking.extras() == ["build"]
    for name in ("cmake", "ninja"):
        (tmp_path / name).write_text("#!/bin/sh\necho 99.0\n")
        (tmp_path / name).chmod(0o755)
    assert lacking.extras() == []


def test_a_bare_python_can_ask_what_is_lacking():
    """On a fresh machine nothing is installed yet, so the standard library must do."""
    script = """
import sys
sys.path[:0] = sys.argv[1:]
from cmbuild.toolchain import lacking
lacking.extras()
lacking.test_packages()
"""
    places = [str(ROOT), str(ROOT / "compiler")]
    command = [sys.executable, "-I", "-S", "-c", script, *places]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

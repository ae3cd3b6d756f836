"""Versions in lock files, as their tools write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.errors import UsageError
from cmbuild.remote.pins import pinned

WANTED = ("torch", "tosa-tools")
PINS = {"torch": "2.15.0+cpu", "tosa-tools": "2026.8.0"}

TEXTS = {
    "requirements.txt": """
# pip freeze
numpy==2.4.0
Torch==2.15.0+cpu \\
    --hash=sha256:00
tosa_tools[all] == 2026.8.0 ; python_version > "3"
""",
    "pylock.toml": """
lock-version = "1.0"
[[packages]]
name = "torch"
version = "2.15.0+cpu"
[[packages]]
name = "tosa-tools"
version = "2026.8.0"
[[packages]]
name = "no-version"
""",
    "uv.lock": """
version = 1
[[package]]
name = "torch"
version = "2.15.0+cpu"
[[package]]
name = "tosa-tools"
version = "2026.8.0"
""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_pins_are_found(name: str, tmp_path: Path) -> None:
    assert pinned(tmp_path, WANTED) == {}
    (tmp_path / name).write_text(TEXTS[name])
    assert pinned(tmp_path, WANTED) == PINS


def test_ranges_are_no_pins(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.14\n-r other.txt\n")
    assert pinned(tmp_path, WANTED) == {}


def test_a_broken_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("[[package]")
    with pytest.raises(UsageError, match=r"uv\.lock:1: "):
        pinned(tmp_path, WANTED)

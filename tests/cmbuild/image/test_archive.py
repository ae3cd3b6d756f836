"""Static libraries are told from anything else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild.image.archive import check_archive


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """With names of odd lengths, and one long enough for the table of names."""
    for name in ("a", "bb", "a_name_longer_than_sixteen_bytes"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        command = ["cc", "-c", f"{name}.c", "-o", f"{name}.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    subprocess.run(["ar", "rcs", "whole.a", *objects], cwd=tmp_path, check=True)
    return tmp_path / "whole.a"


def test_a_library_is_one(archive: Path) -> None:
    check_archive(archive)


def test_anything_else_is_not(archive: Path, tmp_path: Path) -> None:
    data = archive.read_bytes()
    other = tmp_path / "other.a"
    for content in (b"", b"{}", data[:8], data[:-1], data[:100], data.replace(b"\x7fELF", b"text")):
        other.write_bytes(content)
        with pytest.raises(ValueError):
            check_archive(other)
    with pytest.raises(OSError):
        check_archive(tmp_path / "none.a")

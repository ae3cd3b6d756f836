"""A disk without room is known as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.disk import is_full


def test_a_disk_with_room(tmp_path: Path) -> None:
    assert not is_full(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", 0) as device:
        monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: device)
        assert is_full(tmp_path)

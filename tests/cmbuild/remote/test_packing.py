"""A folder survives as bytes; nothing is written outside of the one that gets it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from cmbuild.remote.packing import NotPacked, pack, unpack


def folder_of(root: Path, name: str) -> Path:
    folder = root / name
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.bin").write_bytes(bytes(range(256)))
    (folder / "stamp").write_text("stays")
    (folder / "empty").write_bytes(b"")
    return folder


def test_files_survive(tmp_path: Path) -> None:
    unpack(pack(folder_of(tmp_path, "from"), without=["stamp"]), tmp_path / "to")
    found = {path.name: path.read_bytes() for path in (tmp_path / "to").rglob("*.*")}
    assert found == {"a.bin": bytes(range(256))}
    assert (tmp_path / "to" / "empty").read_bytes() == b""
    assert not (tmp_path / "to" / "stamp").exists()


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    assert pack(folder_of(tmp_path, "one")) == pack(folder_of(tmp_path, "other"))


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "a\\out"])
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("good", "1")
        archive.writestr(name, "2")
    with pytest.raises(NotPacked):
        unpack(buffer.getvalue(), tmp_path / "to")
    assert list(tmp_path.rglob("*")) == []


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    packed = pack(folder_of(tmp_path, "from"))
    for data in (b"", b"PK", packed[: len(packed) // 2]):
        with pytest.raises(NotPacked):
            unpack(data, tmp_path / "to")

"""A folder survives as bytes; nothing is written outside of the one that gets it."""

from __future__ import annotations

import io
import random
import struct
import tempfile
import warnings
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
    listed = {path.name: path.read_bytes() for path in (tmp_path / "to").rglob("*.*")}
    assert listed == {"a.bin": bytes(range(256))}
    assert (tmp_path / "to" / "empty").read_bytes() == b""
    assert not (tmp_path / "to" / "stamp").exists()


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    assert pack(folder_of(tmp_path, "one")) == pack(folder_of(tmp_path, "other"))


@pytest.mark.parametrize(
    "name",
    [
        *("../out", "/out", "a/../../out", "a\\out", ".", "./a", "a//b", "a/"),
        *("good", "good/below", "x" * 400, "/".join(["y" * 200] * 30), "é" * 128),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
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


def test_data_that_does_not_unpack_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"some content that deflates " * 100)
    packed = bytearray(buffer.getvalue())
    packed[31:40] = b"\xff" * 9
    with pytest.raises(NotPacked):
        unpack(bytes(packed), tmp_path / "to")


def test_declared_sizes_are_limited(tmp_path: Path) -> None:
    packed = bytearray(pack(folder_of(tmp_path, "from")))
    entry = packed.index(b"PK\x01\x02")
    packed[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFFFE)
    second = packed.index(b"PK\x01\x02", entry + 4)
    packed[second + 24 : second + 28] = struct.pack("<I", 0xFFFFFFFE)
    with pytest.raises(NotPacked, match="too large"):
        unpack(bytes(packed), tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_any_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    packed, chance = pack(folder_of(tmp_path, "from")), random.Random(0)
    before = sorted(path for path in tmp_path.rglob("*"))
    for number in range(500):
        data = bytearray(packed)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            try:
                unpack(bytes(data), Path(folder))
            except NotPacked:
                continue
            assert all(path.is_relative_to(folder) for path in Path(folder).rglob("*")), number
    assert sorted(tmp_path.rglob("*")) == before

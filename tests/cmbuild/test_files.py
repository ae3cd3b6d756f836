"""Files that cannot be written leave nothing behind, and a disk without room is known as one."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from cmbuild.errors import ExitCode, NoSpace, UsageError
from cmbuild.files import check_input, check_output_folder, is_full, write


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write that reaches the disk fails; opening files does not."""

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", lambda self, _: no_room(self.touch()))


@pytest.mark.usefixtures("full")
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NoSpace) as error:
        write(tmp_path / "report", "text")
    assert error.value.exit_code is ExitCode.MISSING
    assert list(tmp_path.iterdir()) == []


def test_inputs_that_are_not_worth_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, pipe, good = tmp_path / "sparse.pte", tmp_path / "pipe.pte", tmp_path / "good.pte"
    with sparse.open("wb") as file:
        file.truncate(40 << 30)
    os.mkfifo(pipe)
    good.write_bytes(b"x")
    wanted = {
        sparse: "has 42,949,672,960 bytes; expected at most 4 GiB",
        pipe: "is a device or a pipe; expected a file",
        Path("/dev/zero"): "is a device or a pipe; expected a file",
        tmp_path: f"no such file: {tmp_path}",
        tmp_path / "none": f"no such file: {tmp_path / 'none'}",
        good / "below": f"no such file: {good / 'below'}",
    }
    for path, message in wanted.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            check_input(path)
    check_input(good)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UsageError, match=re.escape(f"cannot read {good}: permission denied")):
        check_input(good)


def refuse(path: Path, *_: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_a_file_where_a_folder_is_to_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="file is not a folder"):
            check_output_folder(folder)
    check_output_folder(tmp_path / "new" / "folder")
    check_output_folder(None)


def test_a_disk_with_room(tmp_path: Path) -> None:
    assert not is_full(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", 0) as device:
        monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: device)
        assert is_full(tmp_path)

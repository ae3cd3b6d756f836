"""Files that cannot be written leave nothing behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cmbuild.errors import ExitCode, NoSpace
from cmbuild.files import write


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

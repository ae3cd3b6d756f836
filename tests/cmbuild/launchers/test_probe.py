"""Which probe a board's image runs by."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.catalog import find_board
from cmbuild.errors import UsageError
from cmbuild.hardware.method import Selection
from cmbuild.launchers.probe import ProbeLine
from cmbuild.launchers.real import probe


def test_the_launcher_is_the_boards_first_available_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyocd").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    line = probe(find_board("nrf52840dk"), None, Selection(probe="77"))
    assert isinstance(line, ProbeLine)
    assert (line.title, line.unit) == ("nrf52840dk through pyocd", "cycles")
    assert "77" in (line.method.gdb_server(1, line.selection) or ())
    assert (line.instructions(0), line.instructions(7)) == (None, 7)
    with pytest.raises(UsageError, match="way to flash nrf52840dk"):
        probe(find_board("nrf52840dk"), "picotool", Selection())

"""Leases without a coordinator; those with one are in tests/cmbuild/cli/test_rack.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.errors import Interrupted
from cmbuild.hardware.rack import lease
from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.lease import KeeperEnded, NoLabgrid, check_rack
from cmbuild.process import Processes

PLACE = RackAddress.parse("labgrid:pico-1")


def test_labgrid_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NoLabgrid) as caught:
        check_rack(PLACE, Processes(), tmp_path / "log")
    assert caught.value.exit_code == 3
    assert "[labgrid]" in str(caught.value.hint)


def test_a_keeper_that_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_KEEPER", "cmbuild.no_such_module")
    with pytest.raises(KeeperEnded, match=r"the process that holds pico-1 ended: .*no_such_mod"):
        check_rack(PLACE, Processes(), tmp_path / "log")


def test_an_interrupted_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_KEEPER", "code")  # waits for input, and ends with it
    processes = Processes()
    processes.terminate()
    with pytest.raises(Interrupted):
        check_rack(PLACE, processes, tmp_path / "log")

"""Commands of a user share a process, unless that is turned off."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.process import python_module
from cmbuild.warm import shared
from cmbuild.warm.place import WarmPlace


def test_command_names_place_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = WarmPlace(tmp_path / "exports", "key")
    monkeypatch.setattr(shared, "shared_place", lambda: place)
    exports = shared.shared_exports()
    assert exports is not None
    client = python_module("cmbuild.warm.client")
    assert exports.command() == [*client, str(tmp_path / "exports"), "key"]


def test_none_where_it_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMBUILD_WARM", "off")
    assert shared.shared_exports() is None

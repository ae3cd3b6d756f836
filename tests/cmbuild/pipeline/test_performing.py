"""How the result of a stage is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cmbuild.cache import store
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.stages.stage import Stage, StageKind


class Toy(Stage):
    """A file in a folder."""

    kind = StageKind.PLAN
    verb = "made"

    def __init__(self, folder: Path) -> None:
        self.name = self.subject = "toy"
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        return {}

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "toy")

    def make(self, folder: Path) -> None:
        (folder / "file").write_text("right")


def test_a_damaged_result_is_read_once_before_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    perform(Toy(tmp_path), lambda: None, notes.append)
    file = tmp_path / "toy" / "file"
    file.write_text("wrong")
    read: list[str] = []
    whole = store.content_digest

    def content(folder: Path) -> str:
        read.append((folder / "file").read_text())
        return whole(folder)

    monkeypatch.setattr(store, "content_digest", content)
    perform(Toy(tmp_path), lambda: None, notes.append)
    assert read == ["wrong", "right"]
    assert file.read_text() == "right"
    assert notes == [f"{tmp_path / 'toy'} has changed since it was made; made again"]
    perform(Toy(tmp_path), lambda: None, notes.append)
    assert read == ["wrong", "right", "right"]
    assert len(notes) == 1

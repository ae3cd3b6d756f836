from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.cache.store import Entry
from cmbuild.errors import Interrupted, NotWritable, UsageError


def fill(entry: Entry, fingerprint: str, content: str) -> None:
    with entry.replace(fingerprint) as folder:
        (folder / "result").write_text(content)


def test_entry_holds_what_it_was_made_for(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "deep" / "entry")
    assert not entry.holds("one")
    fill(entry, "one", "first")
    assert entry.holds("one")
    fill(entry, "two", "second")
    assert not entry.holds("one")
    assert (entry.folder / "result").read_text() == "second"
    assert [path.name for path in entry.folder.parent.iterdir()] == ["entry"]


def test_failure_leaves_the_old_entry(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "entry")
    fill(entry, "one", "first")
    with pytest.raises(RuntimeError), entry.replace("two") as folder:
        (folder / "result").write_text("half")
        raise RuntimeError
    assert entry.holds("one")
    assert (entry.folder / "result").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_error_keeps_what_there_was_for_its_logs(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "entry")
    for attempt in ("first", "second"):
        with pytest.raises(UsageError) as caught, entry.replace("one") as folder:
            (folder / "log").write_text(attempt)
            raise UsageError(message=f"see {folder / 'log'}", hint=f"read {folder}")
        assert (entry.failed / "log").read_text() == attempt
        assert str(caught.value) == f"see {entry.failed / 'log'}"
        assert caught.value.hint == f"read {entry.failed}"
    assert [path.name for path in tmp_path.iterdir()] == ["entry.failed"]
    with pytest.raises(Interrupted), entry.replace("one") as folder:
        raise Interrupted
    fill(entry, "one", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_leftovers_of_a_killed_build_are_neither_believed_nor_kept(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "entry")
    leftover = tmp_path / ".entry.0123.tmp"
    leftover.mkdir()
    (leftover / "stamp").write_text("one")
    assert not entry.holds("one")
    fill(entry, "one", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable) as caught:
        fill(Entry(tmp_path / "file" / "entry"), "one", "first")
    assert str(caught.value) == f"cannot write {tmp_path / 'file'}: not a directory"

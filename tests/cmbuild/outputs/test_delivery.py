"""Files in folders of users: what others made or changed is never written over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cmbuild.errors import UsageError
from cmbuild.outputs.delivery import Destination, NotOverwritten, check_delivery, deliver


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def test_what_was_written_is_written_again(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "report.html"
    for text in (b"first", b"second", b"second", b"third"):
        check_delivery([file])
        deliver({file: text})
        assert file.read_bytes() == text


@pytest.mark.parametrize("before", [None, b"own"], ids=["foreign", "changed"])
def test_a_file_of_others_stays_and_all_are_named(tmp_path: Path, before: bytes | None) -> None:
    place, names = Destination(tmp_path), [f"{letter}.npy" for letter in "abc"]
    if before is not None:
        place.put(dict.fromkeys(names, before))
    for name in names[1:]:
        (tmp_path / name).write_bytes(b"mine")
    reason = "not written by cmbuild" if before is None else "changed since cmbuild wrote it"
    for check in (lambda: check_delivery(tmp_path / name for name in names), None):
        with pytest.raises(NotOverwritten) as caught:
            check() if check else place.put(dict.fromkeys(names, b"new"))
        assert caught.value.message == f"would overwrite b.npy, c.npy ({reason})"
        assert caught.value.exit_code == 2
    files = {path.name: path.read_bytes() for path in tmp_path.glob("*.npy")}
    mine = {"b.npy": b"mine", "c.npy": b"mine"}
    assert files == mine | ({} if before is None else {"a.npy": before})  # all or none
    Destination(tmp_path, force=True).put(dict.fromkeys(names, b"new"))
    assert {path.read_bytes() for path in tmp_path.glob("*.npy")} == {b"new"}
    place.put(dict.fromkeys(names, b"newer"))


def test_both_reasons_are_in_one_line(tmp_path: Path) -> None:
    deliver({tmp_path / "a": b"1"})
    (tmp_path / "a").write_bytes(b"2")
    (tmp_path / "b").write_bytes(b"2")
    with pytest.raises(NotOverwritten) as caught:
        deliver({tmp_path / "a": b"3", tmp_path / "b": b"3"})
    assert caught.value.message == (
        "would overwrite b (not written by cmbuild); a (changed since cmbuild wrote it)"
    )


def test_the_same_content_is_never_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"same")
    deliver({tmp_path / "a": b"same"})
    with pytest.raises(NotOverwritten):  # it is still of others
        deliver({tmp_path / "a": b"other"})


def test_a_copy_at_another_place_is_of_others(tmp_path: Path) -> None:
    deliver({tmp_path / "report": b"1"})
    (tmp_path / "kept").write_bytes(b"1")
    with pytest.raises(NotOverwritten, match="would overwrite kept"):
        deliver({tmp_path / "kept": b"2"})


def test_without_a_record_a_file_is_of_others(tmp_path: Path, cache: Path) -> None:
    deliver({tmp_path / "report": b"1"})
    for entry in cache.rglob("*"):
        if entry.is_file():
            entry.write_text("[" * 10)
    with pytest.raises(NotOverwritten):
        deliver({tmp_path / "report": b"2"})


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file")
    deliver({tmp_path / "report": b"1"})
    assert (tmp_path / "report").read_bytes() == b"1"


def test_a_write_that_was_killed_leaves_a_file_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report"
    deliver({file: b"1"})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("cmbuild.outputs.delivery.put", _interrupt)
        deliver({file: b"2"})
    assert file.read_bytes() == b"1"
    deliver({file: b"3"})


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_through_a_link_the_file_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(NotOverwritten, match="would overwrite link"):
        deliver({tmp_path / "link": b"1"})
    deliver({tmp_path / "link": b"1"}, force=True)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"1"


def test_a_stream_takes_everything(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_delivery([pipe])
        deliver({pipe: b"table"})
        assert os.read(reader, 100) == b"table" and pipe.is_fifo()
    finally:
        os.close(reader)
    deliver({Path(os.devnull): b"1"})
    assert Path(os.devnull).is_char_device()


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="cannot write"):
        deliver({tmp_path / "pipe": b"table"})


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for place, error in (("folder", "folder is a folder"), ("file/a", "file is not a folder")):
        for force in (False, True):
            with pytest.raises(UsageError, match=error):
                deliver({tmp_path / place: b"1"}, force)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError):
        deliver({tmp_path / "loop" / "a": b"1"})


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_bytes(b"mine")])
def test_obsolete_files_go_unless_they_were_changed(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    old, new = tmp_path / "package" / "runtime" / "old.c", tmp_path / "package" / "new.c"
    deliver({old: b"1"})
    change(old)
    if old.exists():
        with pytest.raises(NotOverwritten, match=r"runtime/old\.c \(changed"):
            deliver({new: b"1"}, obsolete=[old])
        assert not new.exists()
    deliver({new: b"1"}, force=True, obsolete=[old])
    assert [path.name for path in (tmp_path / "package").iterdir()] == ["new.c"]

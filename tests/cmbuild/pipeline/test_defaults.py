"""Which model and board are meant where nobody names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cmbuild.cache.folders import LOCK
from cmbuild.errors import ExitCode
from cmbuild.pipeline.defaults import MODEL, NoBoard, find_subject


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def built(here: Path, model: str, place: str, when: int) -> None:
    """Leaves what a build leaves."""
    folder = here / "build" / model / place
    (folder / "runner").mkdir(parents=True)
    (folder / "runner" / MODEL).write_text(f"{model}.py")
    (folder / LOCK).touch()
    os.utime(folder / LOCK, (when, when))


def test_names_are_taken_as_they_are(here: Path) -> None:
    subject = find_subject("mlp", "rp2350", here / "build")
    assert (subject.model, subject.board, subject.remarks) == ("mlp", "rp2350", ())


def test_without_any_hint_it_is_the_zoos(here: Path) -> None:
    subject = find_subject(None, "rp2350", here / "build")
    assert (subject.model, subject.remarks) == ("digits", ("model     digits (the default)",))


def test_the_last_built_for_the_board(here: Path) -> None:
    built(here, "old", "rp2350", 1)
    built(here, "new", "rp2350.scalar", 2)
    built(here, "other", "microbit", 3)
    subject = find_subject(None, "rp2350", here / "build")
    assert (subject.model, subject.remarks) == (
        "new.py",
        ("model     new.py (last built for rp2350)",),
    )


def test_the_project_comes_first(here: Path) -> None:
    built(here, "new", "rp2350", 2)
    (here / "cmbuild.toml").write_text("[project]\nmodel = 'net.py'\nboard = 'rp2350'\n")
    subject = find_subject(None, None, here / "build")
    assert (subject.model, subject.board) == ("net.py", "rp2350")
    assert subject.remarks == (
        "board     rp2350 (of cmbuild.toml)",
        "model     net.py (of cmbuild.toml)",
    )


def test_no_board(here: Path) -> None:
    with pytest.raises(NoBoard) as error:
        find_subject("mlp", None, here / "build")
    assert error.value.exit_code is ExitCode.USAGE

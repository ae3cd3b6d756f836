"""The default model and board, for commands that name none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmbuild import paths
from cmbuild.cache.folders import LOCK, builds
from cmbuild.errors import UsageError
from cmbuild.paths import PROJECT as FILE
from cmbuild.projects.project import find_project

MODEL = "model.txt"
"""A file of built runners: the model, as the user named it."""

FALLBACK = "digits"
"""The model of last resort, from the zoo."""

_LABEL = 10


class NoBoard(UsageError):
    template = "no board is named"
    hint = f"name one of `cmbuild boards`, or `board` in [project] of {FILE}"


@dataclass(frozen=True, slots=True)
class Subject:
    """Model and board to build, and a line for each that was chosen by default."""

    model: str
    board: str
    remarks: tuple[str, ...] = ()


def find_board_name(board: str | None) -> tuple[str, list[str]]:
    """The board to use, and a line that says so if the project names it.

    Raises:
        NoBoard: neither the user nor the project names one.
        BrokenFile: the project's cmbuild.toml is not valid.
    """
    if board:
        return board, []
    name = find_project().board
    if name is None:
        raise NoBoard()
    return name, [_remark("board", name, f"of {FILE}")]


def find_subject(model: str | None, board: str | None, build_dir: Path) -> Subject:
    """
    Raises:
        NoBoard: neither the user nor the project names one.
        BrokenFile: the project's cmbuild.toml is not valid.
    """
    project = find_project()
    board, remarks = find_board_name(board)
    if not model:
        if project.model is not None:
            model, reason = project.model, f"of {FILE}"
        elif (last := _last_built(board.partition(",")[0], build_dir)) is not None:
            model, reason = last, f"last built for {board}"
        else:
            model, reason = FALLBACK, "the default"
        remarks.append(_remark("model", model, reason))
    return Subject(model, board, tuple(remarks))


def complete(options: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Options of a request with model and board, and lines that say which were chosen."""
    build_dir = options.get("build_dir") or paths.default_build()
    subject = find_subject(options.get("model"), options.get("board"), build_dir)
    return {**options, "model": subject.model, "board": subject.board}, subject.remarks


def _last_built(board: str, build_dir: Path) -> str | None:
    """The model whose build for a board is the latest: each build writes its lock."""
    recent = [
        ((folder / LOCK).stat().st_mtime_ns, folder)
        for folder in builds(build_dir)
        if folder.name.partition(".")[0] == board
    ]
    for _, folder in sorted(recent, reverse=True):
        try:
            return (folder / "runner" / MODEL).read_text("utf-8")
        except OSError:
            continue
    return None


def _remark(label: str, name: str, reason: str) -> str:
    return f"{label:<{_LABEL}}{name} ({reason})"

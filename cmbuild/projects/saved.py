"""Figures of earlier runs: from a build's folder, or from what `--json` printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cmbuild.errors import UsageError
from cmbuild.files import check_input
from cmbuild.projects.comparison import Side
from cmbuild.projects.figures import FILE, RunFigures

_MOST_BYTES = 256 << 20


class NoResults(UsageError):
    template = "{folder} holds no results of a run"
    hint = "`cmbuild run MODEL --board BOARD` leaves them in build/MODEL/BOARD"


class NotResults(UsageError):
    template = "{file} is not what `cmbuild run --json` or `cmbuild check --json` prints: {reason}"


def read_side(place: Path) -> Side:
    """The runs of a build's folder, of a folder of builds, of a project, or of a JSON file.

    Raises:
        NoResults: a folder without any.
        NotResults: another file.
        UsageError: it cannot be read.
    """
    runs = list(_in_folder(place) if place.is_dir() else _in_file(place))
    return Side(
        str(place),
        {run.title: run for run in runs},
        {run.title: "not verified" for run in runs if not run.verified},
    )


def _in_folder(folder: Path) -> Iterator[RunFigures]:
    patterns = (FILE, *(f"{'*/' * depth}simulate/{FILE}" for depth in range(4)))
    files = next((matching for each in patterns if (matching := sorted(folder.glob(each)))), [])
    if not files:
        raise NoResults(folder=folder)
    for file in files:
        yield from _in_file(file)


def _in_file(file: Path) -> Iterator[RunFigures]:
    check_input(file)
    if file.stat().st_size > _MOST_BYTES:
        raise NotResults(file=file, reason="it is too large")
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise NotResults(file=file, reason="it is not JSON") from None
    for each in _runs(document):
        try:
            yield RunFigures.model_validate(each)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            reason = f"{key}: {first['msg'].lower()}" if key else first["msg"].lower()
            raise NotResults(file=file, reason=reason) from None


def _runs(document: Any) -> Iterator[Any]:
    """The run that a document holds, or the runs of a check."""
    units = document.get("units") if isinstance(document, dict) else None
    if not isinstance(units, list):
        yield document
        return
    for unit in units:
        figures = unit.get("figures") if isinstance(unit, dict) else None
        if figures is not None:
            yield figures

"""The tasks of plain doit: what dodo.py hands to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from doit import doit_cmd

from cmbuild import paths
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.pipeline import Pipeline, build_folder
from cmbuild.pipeline.session import Session, explain
from cmbuild.report.choice import reporter
from cmbuild.tasks.graph import refusals, tasks
from cmbuild.tasks.variables import flag, requests
from cmcompiler.errors import CompilerError


def task_cmbuild() -> Iterator[dict[str, Any]]:
    """The pipeline of every model=… on every board=…; what fails at once ends the process."""
    variables: Mapping[str, str] = doit_cmd._CMDLINE_VARS or {}
    session = Session(reporter(flag(variables, "json"), flag(variables, "verbose")), _logs())
    try:
        asked = requests(variables)
    except CmbuildError as error:
        if not variables:
            return refusals(session, error)
        return _end(session, error)
    session.logs = build_folder(asked[0]) / "logs" if len(asked) == 1 else _logs()
    try:
        pipeline = Pipeline(session)
        runs = [pipeline.simulate(request) for request in asked]
        flashes = [
            run.flash or pipeline.flash(run.runner, request)
            for run, request in zip(runs, asked, strict=True)
        ]
        return tasks(session, [*runs, *flashes], list(map(build_folder, asked)))
    except (CmbuildError, CompilerError) as error:
        return _end(session, explain(error))


def _end(session: Session, error: CmbuildError) -> Iterator[dict[str, Any]]:
    session.fail(error)
    raise SystemExit(int(session.finish()))


def _logs() -> Path:
    return paths.cache() / "logs"

"""The tasks of plain doit, for dodo.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doit import doit_cmd

from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import Reporter
from cmbuild.pipeline.failures import explain
from cmbuild.pipeline.pipeline import build_folder
from cmbuild.pipeline.session import Session
from cmbuild.tasks.graph import refusals, tasks
from cmbuild.tasks.variables import flag, requests, subject
from cmcompiler.errors import CompilerError


def plain_tasks(reporter: Callable[[bool, bool], Reporter]) -> Iterator[dict[str, Any]]:
    """The pipelines of every model=… on every board=…; an invalid request ends the process.

    Args:
        reporter: makes one, given whether JSON is wanted, and whether commands are shown.
    """
    variables: Mapping[str, str] = doit_cmd._CMDLINE_VARS or {}
    shown = reporter(flag(variables, "json"), flag(variables, "verbose"))
    logs = CacheFolder.LOGS.path
    try:
        chosen = subject(variables)
        asked = requests(variables, chosen)
    except CmbuildError as error:
        if not variables:
            return refusals(Session(shown, logs), error)
        return _end(shown, error)
    if len(asked) == 1:
        logs = build_folder(asked[0].build) / "logs"
    session = Session(shown, logs, remarks=chosen.remarks)
    try:
        runs = [session.pipeline.simulate(request) for request in asked]
        flashes = [
            run.flash or session.pipeline.flash(run.runner, request)
            for run, request in zip(runs, asked, strict=True)
        ]
        return tasks(session, [*runs, *flashes], [build_folder(request.build) for request in asked])
    except (CmbuildError, CompilerError) as error:
        return _end(shown, explain(error))


def _end(reporter: Reporter, error: CmbuildError) -> Iterator[dict[str, Any]]:
    reporter.close([], error)
    raise SystemExit(int(error.exit_code))

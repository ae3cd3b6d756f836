"""A command that performs stages: a session around doit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.report.choice import reporter
from cmbuild.tasks.run import run

S = TypeVar("S", bound=Stage)


def work(
    stages: Callable[[Pipeline], Sequence[S]],
    folders: Sequence[Path],
    *,
    logs: Path,
    json: bool,
    verbose: bool,
    jobs: int,
    conclude: Callable[[Session, Sequence[S]], None] | None = None,
    keep_going: bool = False,
) -> int:
    """Makes the stages, performs them and all that they need, and reports.

    Args:
        folders: build folders that no other command may be at work in meanwhile.
        logs: folder for what child processes print.
        jobs: stages to work on at once.
        conclude: what to do when all are done.
        keep_going: a stage that fails ends only what needs it.

    Returns: the exit code.

    Raises:
        CmbuildError, CompilerError: what is wrong before any stage begins.
    """
    session = Session(reporter(json, verbose), logs, keep_going)
    goals = stages(Pipeline(session))
    if conclude is not None:
        session.conclude = partial(conclude, session, goals)
    return run(session, goals, folders, jobs) if goals else session.finish()

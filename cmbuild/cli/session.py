"""A command that performs stages and shows what they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cmbuild.errors import ExitCode
from cmbuild.pipeline.failures import Failures
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes
from cmbuild.projects.project import Project
from cmbuild.report.choice import reporter
from cmbuild.tasks.graph import results_of
from cmbuild.tasks.run import run

if TYPE_CHECKING:
    from cmbuild.accuracy import EvalResult
    from cmbuild.boards.board import Board
    from cmbuild.pipeline.request import BuildRequest, ConformanceRequest, RunRequest
    from cmbuild.sizing.fits import Cell
    from cmbuild.workers.choice import WorkersChoice
    from cmbuild.workers.evaluation import DataRequest
    from cmbuild.workers.results import SweepResult


class VerbSession:
    """The actions of a verb within its session.

    Attributes:
        pipeline: makes its stages.
    """

    def __init__(self, session: Session) -> None:
        self.pipeline = Pipeline(session.context)
        self._session = session

    def pipeline_of(self, project: Project) -> Pipeline:
        """Makes stages for another project than that of the current folder."""
        return Pipeline(self._session.context, project)

    @property
    def status(self) -> ExitCode:
        """The exit code, once the session has ended."""
        return self._session.status

    @property
    def failures(self) -> Failures:
        return self._session.failures

    @property
    def processes(self) -> Processes:
        return self._session.processes

    def perform(self, stages: Sequence[Stage], folders: Sequence[Path] = (), jobs: int = 1) -> None:
        """Performs stages and all that they need, through doit.

        Args:
            folders: build folders to lock until the session ends.
            jobs: stages to work on at once.

        Raises:
            CmbuildError: the first failure, unless the session keeps going.
        """
        if stages:
            run(self._session, stages, folders, jobs)
        if self.failures.first is not None:
            raise self.failures.first

    def perform_and_show(
        self, stages: Sequence[Stage], folders: Sequence[Path] = (), jobs: int = 1
    ) -> None:
        """As `perform`, and shows what the stages found, even where that is a failure."""
        try:
            self.perform(stages, folders, jobs)
        finally:
            self.show(*results_of(stages))

    def distribute(
        self, requests: Sequence[RunRequest], choice: WorkersChoice
    ) -> dict[int, SweepResult]:
        """Results of runs on workers, by the index of the request."""
        from cmbuild.workers.distribution import distribute

        return dict(distribute(self._session, self.pipeline, requests, choice))

    def fit(
        self,
        models: Sequence[Sequence[BuildRequest]],
        boards: Sequence[Board],
        choice: WorkersChoice,
        *,
        export: bool,
        remedied: bool,
    ) -> list[Cell]:
        """See cmbuild.workers.fitting.fit_on_workers."""
        from cmbuild.workers.fitting import fit_on_workers

        return fit_on_workers(
            self._session, models, boards, choice, export=export, remedied=remedied
        )

    def test(self, request: ConformanceRequest, choice: WorkersChoice) -> None:
        """Runs and shows tests on workers; raises the failure that they come to."""
        from cmbuild.workers.testing import suite_on_workers

        stage = suite_on_workers(self._session, self.pipeline, request, choice)
        self.show(*results_of([stage]))
        if (failure := stage.verdict()) is not None:
            raise failure

    def evaluate_data(self, request: DataRequest, choice: WorkersChoice) -> EvalResult:
        """See cmbuild.workers.evaluation.evaluate_data."""
        from cmbuild.workers.evaluation import evaluate_data

        return evaluate_data(self._session, self.pipeline, request, choice)

    def show(self, *results: object) -> None:
        """Results for the end of the session: see cmbuild.report.rendering."""
        self._session.results += results

    def note(self, text: str) -> None:
        """A line for people, at once."""
        self._session.reporter.note(text)


@contextmanager
def session(
    logs: Path,
    *,
    json: bool,
    verbose: bool = False,
    keep_going: bool = False,
    remarks: Sequence[str] = (),
) -> Iterator[VerbSession]:
    """Shows the results and the failure, if any, at the end; does not raise it.

    Args:
        logs: folder for what child processes print.
        keep_going: a failed stage stops only the stages that need it.
        remarks: lines to show before the first stage.
    """
    mode = click.get_current_context().find_root().params.get("remote_cache")
    with Session(reporter(json, verbose), logs, keep_going, remarks, mode) as at_work:
        yield VerbSession(at_work)

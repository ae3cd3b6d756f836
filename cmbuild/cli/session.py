"""A command that performs stages and shows what they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from cmbuild.mixing.failure import NeedsNotMet
from cmbuild.mixing.settling import settled
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.report.choice import reporter
from cmbuild.tasks.graph import results_of
from cmbuild.tasks.run import run


class VerbSession(Session):
    """The session of a verb."""

    def make(self, stages: Sequence[Stage], folders: Sequence[Path] = (), jobs: int = 1) -> None:
        """Performs stages and all that they need, through doit.

        Args:
            folders: build folders to lock until the session ends.
            jobs: stages to work on at once.

        Raises:
            CmbuildError: the first failure, unless the session keeps going.
        """
        if stages:
            run(self, stages, folders, jobs)
        if self.failures.first is not None:
            raise self.failures.first

    def make_and_show(
        self, stages: Sequence[Stage], folders: Sequence[Path] = (), jobs: int = 1
    ) -> None:
        """As `make`, and shows what the stages found, even where that is a failure."""
        try:
            self.make(stages, folders, jobs)
        finally:
            self.show(*results_of(stages))

    def show(self, *results: object) -> None:
        """Results for the end of the session: see cmbuild.report.rendering."""
        self.results += results

    def settled(self, request: BuildRequest) -> BuildRequest:
        """A request with the precision that its needs choose; raises as there."""
        try:
            return settled(request, self.pipeline, self.make)
        except NeedsNotMet as error:
            self.show(error.result)
            raise

    def note(self, text: str) -> None:
        """A line for people, at once."""
        self.reporter.note(text)


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
    with VerbSession(reporter(json, verbose), logs, keep_going, remarks, mode) as work:
        yield work

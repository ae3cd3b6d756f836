"""A command that performs stages and shows what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import click

from cmbuild.errors import CmbuildError
from cmbuild.mixing.failure import NeedsNotMet
from cmbuild.mixing.settling import settled, settled_package, settled_source
from cmbuild.pipeline.failures import explain
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.request import (
    BuildRequest,
    ModelChoice,
    PackageRequest,
    RunRequest,
)
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.simulate import SimulateStage
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.report.choice import reporter
from cmbuild.tasks.graph import results_of
from cmbuild.tasks.run import run
from cmcompiler.errors import CompilerError

R = TypeVar("R")


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
        """A request with the precision that its needs choose; raises as `settling.settled`."""
        return self._showing(lambda: settled(request, self.pipeline, self.make))

    def settled_package(self, request: PackageRequest) -> PackageRequest:
        """A package's request with the precision that its needs choose."""
        return self._showing(lambda: settled_package(request, self.pipeline, self.make))

    def settled_source(
        self, source: ModelChoice, place: str, build_dir: Path, *, isa: str | None = None
    ) -> ModelChoice:
        """A model that is not built, with the precision its needs choose for a board or core."""
        return self._showing(
            lambda: settled_source(
                source, place, self.pipeline, self.make, build_dir=build_dir, isa=isa
            )
        )

    def simulated(self, request: RunRequest) -> SimulateStage:
        """The stage of a run in the precision that its needs choose, if others go on; if nothing
        meets them, of one that has failed so.
        """
        try:
            build = settled(request.build, self.pipeline, self._make_all)
        except (CmbuildError, CompilerError) as error:
            build = self.pipeline.resolved(request.build)
            plain = replace(build, source=replace(build.source, needs=Needs()))
            stage = self.pipeline.simulate(replace(request, build=plain))
            self.failures.add(explain(error), stage)
            return stage
        return self.pipeline.simulate(replace(request, build=build))

    def _make_all(self, stages: Sequence[Stage]) -> None:
        """As `make`, and raises the first failure of these stages, even if others would go on."""
        self.make(stages)
        for stage in stages:
            if (failure := self.failures.of(stage)) is not None:
                raise failure

    def _showing(self, settle: Callable[[], R]) -> R:
        try:
            return settle()
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

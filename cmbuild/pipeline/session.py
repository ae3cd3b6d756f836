"""A running command: its children, locks, failures and results, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from cmbuild.cache.folders import LOCK
from cmbuild.cache.locks import locked
from cmbuild.errors import CmbuildError, ExitCode, Interrupted
from cmbuild.pipeline import performing
from cmbuild.pipeline.context import Warm, WorkContext
from cmbuild.pipeline.failures import Failures, cause, explain
from cmbuild.pipeline.interrupts import Interrupts
from cmbuild.process import Processes
from cmbuild.remote.storage import connect
from cmbuild.warm.shared import shared_exports

if TYPE_CHECKING:
    from cmbuild.pipeline.events import Reporter
    from cmbuild.pipeline.pipeline import Pipeline
    from cmbuild.pipeline.stages.stage import Stage
    from cmbuild.projects.project import Project

S = TypeVar("S", bound="Session")


class Session:
    """A command, from its first stage until its results are shown.

    Attributes:
        results: what was found out so far.
        selected: the stages to perform.
        fetched: those whose result came from a remote cache.
        status: the exit code, once the session has ended.
    """

    def __init__(
        self,
        reporter: Reporter,
        logs: Path,
        keep_going: bool = False,
        remarks: Sequence[str] = (),
        remote_mode: str | None = None,
        *,
        warm: Warm | None = None,
    ) -> None:
        """
        Args:
            remarks: lines to show before the first stage.
            remote_mode: of the remote cache: see cmbuild.remote.storage.connect.
            warm: for all exports; by default the process that a user's commands share.

        Raises:
            UsageError, Missing: see there.
        """
        self.reporter = reporter
        self.remote_mode = remote_mode
        self.processes = Processes(echo=reporter.command)
        self.context = WorkContext(
            self.processes,
            logs,
            reporter.progress,
            reporter.note,
            connect(remote_mode, reporter.note),
            shared_exports if warm is None else lambda: warm,
        )
        self.interrupts = Interrupts(self.processes)
        self.failures = Failures(keep_going)
        self.results: list[object] = []
        self.selected: Sequence[Stage] = ()
        self.fetched: set[Stage] = set()
        self.status = ExitCode.FINE
        self._remarks = remarks
        self._locks = ExitStack()

    def __enter__(self: S) -> S:
        self.interrupts.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None:
            if not isinstance(error, (Exception, KeyboardInterrupt)):
                return False
            self.failures.add(cause(error, self.context.logs))
        self.finish()
        return True

    @cached_property
    def pipeline(self) -> Pipeline:
        """Makes the stages of the session.

        Raises:
            BrokenFile: the project's cmbuild.toml is not valid.
        """
        return self.pipeline_of(None)

    def pipeline_of(self, project: Project | None) -> Pipeline:
        """Makes stages for a project; that of the current folder if None."""
        from cmbuild.pipeline.pipeline import Pipeline

        return Pipeline(self.context, project)

    def finish(self) -> None:
        """Releases all locks; shows the results, and the failure if there was one."""
        if self.interrupts.received:
            self.processes.end()
            self.failures.first = Interrupted()
        self._locks.close()
        self.interrupts.ignore()
        failure = self.failures.first
        try:
            self.reporter.close(self.results, failure)
        except Exception as error:  # raised by a report; doit would show its traceback
            failure = explain(error)
            self.reporter.close([], failure)
        self.status = ExitCode.FINE if failure is None else failure.exit_code

    def begin(self, folders: Sequence[Path]) -> None:
        """Locks build folders until the end, and checks what would fail late.

        Raises:
            NotWritable: a build folder cannot be written.
            CmbuildError: a stage cannot be performed, unless others are to continue.
        """
        check, note = self.interrupts.check, self.reporter.note
        for remark in self._remarks:
            note(remark)
        for folder in sorted(set(folders)):
            message = f"another build is running in {folder}; waiting for it"
            waiting = performing.Waiting(message, check, note)
            self._locks.enter_context(locked(folder / LOCK, waiting))
        for stage in () if self.failures.keep_going else self.selected:
            stage.check()

    def perform(self, stage: Stage) -> None:
        """Makes the result of a stage; a wrong result is a failure, and is kept."""
        check, note = self.interrupts.check, self.reporter.note
        if performing.perform(stage, check, note, self.context.remote):
            self.fetched.add(stage)
        if (error := stage.verdict()) is not None:
            self.failures.add(error, stage)

    def offer(self, stage: Stage) -> None:
        """Shares a result that is up to date with other machines, if they have a cache."""
        performing.offer(stage, self.interrupts.check, self.reporter.note, self.context.remote)

    def attempt(
        self, work: Callable[[], object], stage: Stage | None = None
    ) -> CmbuildError | None:
        """Does some work, perhaps of a stage; returns the error, also recorded, if it failed."""
        try:
            self.interrupts.check()
            work()
        except (Exception, KeyboardInterrupt) as error:
            explained = cause(error, self.context.logs)
            self.failures.add(explained, stage)
            return explained
        return None

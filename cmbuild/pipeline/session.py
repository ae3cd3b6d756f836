"""One command at work: performs stages, holds their locks, and ends what it started."""

from __future__ import annotations

import errno
import shutil
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.cache.locks import locked
from cmbuild.errors import (
    CmbuildError,
    ExitCode,
    Internal,
    Interrupted,
    NoSpace,
    from_compiler,
)
from cmbuild.files import NO_ROOM, is_full, unwritable
from cmbuild.process import Processes
from cmcompiler.errors import CompilerError

if TYPE_CHECKING:
    from cmbuild.pipeline.events import Report, Reporter
    from cmbuild.pipeline.stages.stage import Stage

_DISK = (errno.EACCES, errno.EPERM, errno.EROFS, *NO_ROOM)

LOCK = ".lock"
"""The lock file of a build folder."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Session:
    """What the stages of one command share.

    Attributes:
        logs: folder for what child processes print, where they have no better place.
        reports: what was found out so far.
        failure: the first error, or None.
        keep_going: the failure of a stage concerns only what needs it, and is among `failures`.
        selected: the stages that are to be performed.
        conclude: work for the end, if nothing has failed.
    """

    def __init__(self, reporter: Reporter, logs: Path, keep_going: bool = False) -> None:
        self.reporter = reporter
        self.logs = logs
        self.keep_going = keep_going
        self.failures: dict[Stage, CmbuildError] = {}
        self.processes = Processes(echo=reporter.command)
        self.reports: list[Report] = []
        self.failure: CmbuildError | None = None
        self.selected: Sequence[Stage] = ()
        self.conclude: Callable[[], None] = lambda: None
        self._locks = ExitStack()
        self._handlers: dict[int, object] = {}
        self._interrupted = threading.Event()

    def start(self) -> None:
        """From now on a signal ends the children and raises KeyboardInterrupt."""
        for number in SIGNALS:
            self._handlers[number] = signal.signal(number, self._interrupt)

    def finish(self) -> ExitCode:
        """Lets go of all locks; shows the reports, and the failure if there was one."""
        if self.failure is None:
            self.attempt(self.conclude)
        if self._interrupted.is_set():
            self.processes.end()
            self.failure = Interrupted()
        self._locks.close()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._handlers.clear()
        try:
            self.reporter.close(self.reports, self.failure)
        except Exception as error:  # of a report; doit would show its traceback
            self.failure = explain(error)
            self.reporter.close([], self.failure)
        return ExitCode.FINE if self.failure is None else self.failure.exit_code

    def begin(self, folders: Sequence[Path]) -> None:
        """Keeps other commands out of build folders until the end; finds out what would fail late.

        Raises:
            NotWritable: a build folder.
            CmbuildError: what keeps a stage from being performed, unless others are to go on.
        """
        for folder in sorted(set(folders)):
            waiting = self._waiting(f"another build is at work in {folder}; waiting for it")
            self._locks.enter_context(locked(folder / LOCK, waiting))
        for stage in () if self.keep_going else self.selected:
            stage.check()

    def is_made(self, stage: Stage) -> bool:
        """Whether the result of a stage is there, as `perform` would make it."""
        try:
            return stage.is_made()
        except Exception:
            return False  # perform fails in the same way, where it is reported

    def perform(self, stage: Stage) -> None:
        """Makes the result of a stage, unless another command has just done so."""
        entry = stage.entry
        waiting = self._waiting(f"another command makes {entry.folder.name}; waiting for it")
        with locked(entry.lock, waiting):
            if not stage.is_made():
                if stage.is_damaged():
                    self.reporter.note(f"{entry.folder} has changed since it was made; made again")
                with entry.replace(stage.fingerprint) as folder:
                    stage.make(folder)

    def clean(self, stage: Stage) -> None:
        """Removes the result of a stage."""
        shutil.rmtree(stage.entry.folder, ignore_errors=True)

    def fail(self, error: CmbuildError, stage: Stage | None = None) -> None:
        """Notes a failure, perhaps of a stage; also of one that came to its end, and is wrong."""
        if stage is None or not self.keep_going or isinstance(error, Interrupted):
            self.failure = self.failure or error
        else:
            self.failures.setdefault(stage, error)

    def failure_of(self, stage: Stage) -> CmbuildError | None:
        """Why a stage has no good result: a failure of one that it needs, or its own."""
        for needed in stage.after:
            if failure := self.failure_of(needed):
                return failure
        return self.failures.get(stage)

    def attempt(
        self, work: Callable[[], object], stage: Stage | None = None
    ) -> CmbuildError | None:
        """Does some work, perhaps of a stage; its error, which is noted, if it failed."""
        try:
            if self._interrupted.is_set():
                raise Interrupted()
            work()
        except (Exception, KeyboardInterrupt) as error:
            explained = self._explain(error)
            self.fail(explained, stage)
            return explained
        return None

    def _explain(self, error: BaseException) -> CmbuildError:
        """As explain; but a disk without room is why anything may fail: tools, simulators, us."""
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            return NoSpace(path=self.logs)
        explained = explain(error)
        if explained.exit_code is ExitCode.FAILED:
            for place in (self.logs, paths.cache(), Path(tempfile.gettempdir())):
                if is_full(place):
                    return NoSpace(path=place)
        return explained

    def _waiting(self, message: str) -> Callable[[], None]:
        said: list[str] = []

        def wait() -> None:
            if self._interrupted.is_set():
                raise Interrupted()
            if not said:
                said.append(message)
                self.reporter.note(message)

        return wait

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        is_first = not self._interrupted.is_set()
        self._interrupted.set()
        self.processes.terminate()
        # A second exception would cut off what the first one began: waiting for children to end.
        if is_first and not self.processes.is_starting:
            raise KeyboardInterrupt


def explain(error: BaseException) -> CmbuildError:
    """Any exception as an error to show; the traceback of an unforeseen one goes to a log."""
    if isinstance(error, CmbuildError):
        return error
    if isinstance(error, CompilerError):
        return from_compiler(error)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted()
    if isinstance(error, OSError) and error.errno in _DISK and error.filename is not None:
        return unwritable(Path(str(error.filename)), error)
    log = paths.cache() / "logs" / f"internal-{datetime.now():%Y%m%d-%H%M%S}.txt"
    text = "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
    except OSError:
        return Internal(message=f"{type(error).__name__}: {error}", hint=None)
    return Internal(message=f"{type(error).__name__}: {error}", log=log)

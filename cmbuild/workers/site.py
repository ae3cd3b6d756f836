"""The workers' side: performs units in sessions that their client can end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.failures import explain
from cmbuild.pipeline.session import Session
from cmbuild.warm.exports import WarmExports
from cmbuild.workers.jobs import Job, Outcome
from cmbuild.workers.results import UnitResult

if TYPE_CHECKING:
    from cmbuild.process import Processes
    from cmbuild.workers.units import WorkUnit

_OF_UNITS = (
    *("cmbuild.tasks.run", "cmbuild.workers.units"),
    *("cmcompiler.importer.build", "cmcompiler.plan.planner"),
)
"""Modules that performing a unit would import."""


def preload() -> None:
    """Imports what units need, in a process that forks workers."""
    for module in _OF_UNITS:
        import_module(module)


class Site:
    """A worker's place for units, one at a time."""

    def __init__(self) -> None:
        self._warm = WarmExports(CacheFolder.LOGS.path)
        self._running: dict[Processes, str] = {}
        self._stopped: set[str] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Ends everything."""
        self.stop(None)
        self._warm.close()

    def stop(self, job: str | None) -> None:
        """Ends the children of a job, or of all, and lets it start no more."""
        with self._lock:
            if job is not None:
                self._stopped.add(job)
            due = [each for each, owner in self._running.items() if job in (None, owner)]
        for processes in due:
            processes.terminate()

    def work(self, unit: WorkUnit, job: Job, before: Sequence[Outcome]) -> Outcome:
        """
        Args:
            before: what the unit needs; if that failed, so does the unit.
        """
        start = time.monotonic()
        failed = next((each.result.failure for each in before if each.result.error), None)
        try:
            if failed is not None:
                raise failed
            result = self.perform(unit, job)
        except Exception as error:
            failure = error if isinstance(error, CmbuildError) else explain(error)
            result = unit.failed(failure)
        return Outcome(result, time.monotonic() - start)

    def perform(self, unit: WorkUnit, job: Job) -> UnitResult:
        with self._session(job) as open_session:
            return unit.perform(open_session)

    @contextmanager
    def _session(self, job: Job) -> Iterator[Callable[[Path], Session]]:
        opened: list[Processes] = []

        def open_session(logs: Path) -> Session:
            session = Session(Callback(None), logs, remote_mode=job.remote_mode, warm=self._warm)
            with self._lock:
                self._running[session.processes] = job.name
                opened.append(session.processes)
                is_late = job.name in self._stopped
            if is_late:
                session.processes.terminate()
            return session

        try:
            yield open_session
        finally:
            with self._lock:
                for processes in opened:
                    self._running.pop(processes, None)

"""The workers' side: performs units in sessions that the client can end."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Worker, WorkerPlugin, get_worker

from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.failures import explain
from cmbuild.pipeline.session import Session
from cmbuild.warm.exports import WarmExports
from cmbuild.workers.environment import check
from cmbuild.workers.jobs import Job, Outcome
from cmbuild.workers.results import UnitResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cmbuild.process import Processes
    from cmbuild.workers.units import WorkUnit

PLUGIN = "cmbuild"
"""The name under which a worker knows its Site."""

_DEATH_SECONDS = 10


class Site(WorkerPlugin):  # type: ignore[misc]
    """A worker's place for units; a plugin of Dask's worker."""

    name = PLUGIN

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._warm = WarmExports(CacheFolder.LOGS.path)
        self._running: dict[Processes, str] = {}
        self._stopped: set[str] = set()
        self._lock = threading.Lock()

    def setup(self, worker: Any) -> None:
        self._address = str(worker.address)

    def teardown(self, worker: Any) -> None:
        """Ends everything as the worker closes."""
        self.stop(None)
        self._warm.close()

    @property
    def environment(self) -> Mapping[str, str]:
        return self._environment

    def stop(self, job: str | None) -> None:
        """Ends the children of a job, or of all, and lets it start no more."""
        with self._lock:
            if job is not None:
                self._stopped.add(job)
            due = [each for each, owner in self._running.items() if job in (None, owner)]
        for processes in due:
            processes.terminate()

    def perform(self, unit: WorkUnit, job: Job) -> UnitResult:
        """
        Raises:
            OtherEnvironment: the worker came after the client had looked.
        """
        check(self._address, self._environment, job.expected)
        with self._session(job) as session_of:
            return unit.perform(session_of)

    @contextmanager
    def _session(self, job: Job) -> Iterator[Any]:
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


def work(unit: WorkUnit, job: Job, *before: Outcome) -> Outcome:
    """Called by Dask's workers.

    Args:
        before: what the unit needs; if that failed, so does the unit.
    """
    start = time.monotonic()
    failed = next((each.result.failure for each in before if each.result.error), None)
    try:
        if failed is not None:
            raise failed
        result = get_worker().plugins[PLUGIN].perform(unit, job)
    except Exception as error:
        failure = error if isinstance(error, CmbuildError) else explain(error)
        result = unit.failed(failure)
    return Outcome(result, time.monotonic() - start)


def environment_there(dask_worker: Any) -> Mapping[str, str] | None:
    """A worker's environment; None if it was not started by `cmbuild worker`."""
    site = dask_worker.plugins.get(PLUGIN)
    return site.environment if isinstance(site, Site) else None


def stop_there(job: str, dask_worker: Any) -> None:
    """Ends a job's children on a worker."""
    site = dask_worker.plugins.get(PLUGIN)
    if isinstance(site, Site):
        site.stop(job)


async def serve(
    address: str, name: str | None, environment: Mapping[str, str], ready: Callable[[str], None]
) -> None:
    """Works for a scheduler until it ends or closes the worker.

    Args:
        environment: this computer's.
        ready: is called with the worker's address.

    Raises:
        OSError: the scheduler cannot be reached.
    """
    worker = Worker(
        address,
        nthreads=1,
        name=name,
        plugins=(Site(environment),),
        memory_limit=0,
        dashboard=False,
        death_timeout=_DEATH_SECONDS,
    )
    async with worker:
        ready(worker.address)
        await worker.finished()

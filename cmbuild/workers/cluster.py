"""A cluster of workers, on this computer or behind a Dask scheduler, that performs units."""

from __future__ import annotations

import importlib.util
import logging
import queue
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmbuild.errors import Failed, Missing, UsageError
from cmbuild.process import python_module
from cmbuild.toolchain.tools import pip_command
from cmbuild.workers.environment import check, environment
from cmbuild.workers.jobs import Job, Outcome

if TYPE_CHECKING:
    from cmbuild.process import Completed, Processes
    from cmbuild.workers.units import WorkUnit

EXTRA = "workers"
_CONNECT_SECONDS = 10
_START_SECONDS = 60
_POLL_SECONDS = 0.5

QUIET_LOOPS: Mapping[str, object] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Settings of Dask: by default, each process samples its stack every 10 ms and looks at its event
loop every 20 ms, which takes 4 % of a core from units.
"""


class NoDask(Missing):
    template = "the Python package distributed is not installed; --workers and --scheduler need it"


class NoScheduler(Failed):
    template = "no scheduler responds at {address}"
    hint = "start one with `dask scheduler`, and workers with `cmbuild worker {address}`"


class SchedulerLost(Failed):
    template = "the scheduler at {address} was lost with {done} of {all} units done"
    hint = "run the command again: what was made is not made again"


class NoWorkers(Failed):
    template = "the scheduler at {address} has no workers"
    hint = "start them with `cmbuild worker {address}`"


class WorkersLost(Failed):
    template = "all workers have ended with {done} of {all} units done"
    hint = "{log} says why; run the command again: what was made is not made again"


class NotOurs(UsageError):
    template = "worker {worker} was not started by cmbuild"
    hint = "start workers with `cmbuild worker {address}`"


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Workers to start here, or a scheduler that has some; neither is none."""

    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.scheduler is not None:
            raise UsageError(
                message="--workers and --scheduler exclude each other",
                hint="--workers N for processes here, --scheduler URL for a cluster",
            )
        if self.scheduler is not None and "://" not in self.scheduler:
            raise UsageError(
                message=f"{self.scheduler} is not the address of a scheduler",
                hint="--scheduler tcp://HOST:8786",
            )
        if self.is_chosen and importlib.util.find_spec("distributed") is None:
            raise NoDask(hint=pip_command(EXTRA))

    @property
    def is_chosen(self) -> bool:
        return self.workers is not None or self.scheduler is not None


class Cluster:
    """Workers that are connected, with the same environment as this process."""

    def __init__(
        self, client: Any, address: str, remote_mode: str | None, ended: Callable[[], Path | None]
    ) -> None:
        """
        Args:
            ended: the log of a worker, if all those that were started here have ended.
        """
        self._client = client
        self._address = address
        self._ended = ended
        self._job = Job(uuid.uuid4().hex, environment(), remote_mode)

    def check(self) -> None:
        """
        Raises:
            NoWorkers: there are none.
            NotOurs, OtherEnvironment: one that cannot work for this client.
        """
        from cmbuild.workers import site

        there: Mapping[str, Mapping[str, str] | None]
        there = self._client.run(site.environment_there)
        if not there:
            raise NoWorkers(address=self._address)
        for worker, found in sorted(there.items()):
            if found is None:
                raise NotOurs(worker=worker, address=self._address)
            check(worker, found, self._job.expected)

    def perform(
        self, units: Sequence[WorkUnit], needs: Sequence[Sequence[WorkUnit]]
    ) -> Iterator[tuple[WorkUnit, Outcome]]:
        """Units with how they ended, as they end: of `needs` too.

        Args:
            needs: for each unit, those that must end before it; each is done once.

        Raises:
            SchedulerLost, WorkersLost: before all have ended.
        """
        from cmbuild.workers import site

        ended: queue.SimpleQueue[tuple[WorkUnit, Any]] = queue.SimpleQueue()
        futures: dict[str, Any] = {}

        def submit(unit: WorkUnit, before: Sequence[WorkUnit]) -> None:
            if unit.key in futures:
                return
            earlier = [futures[each.key] for each in before]
            future = self._client.submit(
                site.work, unit, self._job, *earlier, key=f"{unit.key}-{self._job.name}"
            )
            futures[unit.key] = future
            future.add_done_callback(lambda done: ended.put((unit, done)))

        try:
            for unit, before in zip(units, needs, strict=True):
                for each in before:
                    submit(each, ())
                submit(unit, before)
            for count in range(len(futures)):
                yield self._next(ended, count, len(futures))
        finally:
            with suppress(Exception):  # a lost scheduler has nothing to clean
                self._client.cancel(list(futures.values()), force=True)
                self._client.run(site.stop_there, self._job.name)

    def _next(self, ended: Any, done: int, all: int) -> tuple[WorkUnit, Outcome]:
        while True:
            try:
                unit, future = ended.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                unit = future = None
            if self._client.status != "running":
                raise SchedulerLost(address=self._address, done=done, all=all)
            if future is None:
                if (log := self._ended()) is not None:
                    raise WorkersLost(done=done, all=all, log=log)
                continue
            if future.status == "finished":
                return unit, future.result()
            error = future.exception()
            if future.cancelled() or error is None:
                raise SchedulerLost(address=self._address, done=done, all=all)
            return unit, _dead(unit, error)


def _dead(unit: WorkUnit, error: BaseException) -> Outcome:
    """Dask gives up on a unit whose workers died several times."""
    failure = Failed(message=f"{unit.step.subject}: {type(error).__name__}: its workers died")
    return Outcome(unit.failed(failure), 0.0)


@contextmanager
def connected(
    choice: ClusterChoice, processes: Processes, logs: Path, remote_mode: str | None
) -> Iterator[Cluster]:
    """
    Raises:
        NoScheduler, NoWorkers, NotOurs, OtherEnvironment, WorkersLost.
    """
    quieten()
    with ExitStack() as stack:
        ended: Callable[[], Path | None] = _never
        if (address := choice.scheduler) is None:
            address, ended = stack.enter_context(_started(choice.workers or 1, processes, logs))
        client = stack.enter_context(_client(address))
        if choice.workers is not None:
            _await(client, choice.workers, ended)
        cluster = Cluster(client, address, remote_mode, ended)
        cluster.check()
        yield cluster


@contextmanager
def local(workers: int, processes: Processes, logs: Path) -> Iterator[str]:
    """Workers on this computer, for several commands; gives the address of their scheduler.

    Raises:
        WorkersLost: one did not start.
    """
    quieten()
    with _started(workers, processes, logs) as (address, ended):
        with _client(address) as client:
            _await(client, workers, ended)
        yield address


@contextmanager
def _started(count: int, processes: Processes, logs: Path) -> Iterator[tuple[str, _Ended]]:
    log = logs / "workers.txt"
    with _scheduler() as address:
        command = [*python_module("cmbuild"), "worker", address, "--workers", str(count)]
        with processes.background(command, log=log, name="workers", cwd=Path.cwd()) as wait:
            yield address, _Ended(wait, log)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    import dask
    from distributed import Client

    try:
        with dask.config.set(QUIET_LOOPS):
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise NoScheduler(address=address) from error
    try:
        yield client
    finally:
        _close(client)


def quieten() -> None:
    """Keeps Dask's log lines from between a report's."""
    # Its import sets levels.
    import distributed  # noqa: F401

    for name in ("distributed", "distributed.client", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _never() -> None:
    """Of workers that were started elsewhere: their scheduler knows."""


class _Ended:
    """The log of workers that were started here, once all have ended."""

    def __init__(self, wait: Callable[[], Completed], log: Path) -> None:
        import threading

        self._log = log
        self._thread = threading.Thread(target=wait, daemon=True)
        self._thread.start()

    def __call__(self) -> Path | None:
        return None if self._thread.is_alive() else self._log


def _await(client: Any, count: int, ended: Callable[[], Path | None]) -> None:
    import time

    deadline = time.monotonic() + _START_SECONDS
    while len(client.scheduler_info(n_workers=-1)["workers"]) < count:
        if (log := ended()) is not None or time.monotonic() > deadline:
            raise WorkersLost(done=0, all=count, log=log)
        time.sleep(0.05)


@contextmanager
def _scheduler() -> Iterator[str]:
    """A scheduler in this process, for workers on this computer."""
    import dask
    from distributed import LocalCluster

    with dask.config.set(QUIET_LOOPS):
        cluster = LocalCluster(
            n_workers=0,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    with cluster:
        yield cluster.scheduler_address


def _close(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=2)

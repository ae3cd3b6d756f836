"""Workers behind a Dask scheduler."""

from __future__ import annotations

import logging
import queue
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from cmbuild.errors import Failed, UsageError
from cmbuild.workers.environment import check, environment
from cmbuild.workers.jobs import ATTEMPTS, Job, Outcome, WorkersDied

if TYPE_CHECKING:
    from cmbuild.workers.units import WorkUnit

_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.5

QUIET_LOOPS: Mapping[str, object] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Settings of Dask: by default, each process samples its stack every 10 ms and looks at its event
loop every 20 ms, which takes 4 % of a core from units.
"""


class NoScheduler(Failed):
    template = "no scheduler responds at {address}"
    hint = "start one with `dask scheduler`, and workers with `cmbuild worker {address}`"


class SchedulerLost(Failed):
    template = "the scheduler at {address} was lost with {done} of {all} units done"
    hint = "run the command again: what was made is not made again"


class NoWorkers(Failed):
    template = "the scheduler at {address} has no workers"
    hint = "start them with `cmbuild worker {address}`"


class NotOurs(UsageError):
    template = "worker {worker} was not started by cmbuild"
    hint = "start workers with `cmbuild worker {address}`"


class Cluster:
    """Workers that are connected, with the same environment as this process."""

    def __init__(self, client: Any, address: str, remote_mode: str | None) -> None:
        self._client = client
        self._address = address
        self._job = Job(uuid.uuid4().hex, remote_mode, environment())

    def check(self) -> None:
        """
        Raises:
            NoWorkers: there are none.
            NotOurs, OtherEnvironment: one that cannot work for this client.
        """
        from cmbuild.workers import dask_site

        there: Mapping[str, Mapping[str, str] | None]
        there = self._client.run(dask_site.environment_there)
        if not there:
            raise NoWorkers(address=self._address)
        for worker, versions in sorted(there.items()):
            if versions is None:
                raise NotOurs(worker=worker, address=self._address)
            check(worker, versions, self._job.expected)

    def perform(
        self, units: Sequence[WorkUnit], needs: Sequence[Sequence[WorkUnit]]
    ) -> Iterator[tuple[WorkUnit, Outcome]]:
        """See Workers.perform.

        Raises:
            SchedulerLost.
        """
        from cmbuild.workers import dask_site

        ended: queue.SimpleQueue[tuple[WorkUnit, Any]] = queue.SimpleQueue()
        futures: dict[str, Any] = {}

        def submit(unit: WorkUnit, before: Sequence[WorkUnit]) -> None:
            if unit.key in futures:
                return
            earlier = [futures[each.key] for each in before]
            future = self._client.submit(
                dask_site.work, unit, self._job, *earlier, key=f"{unit.key}-{self._job.name}"
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
                self._client.run(dask_site.stop_there, self._job.name)

    def _next(self, ended: Any, done: int, all: int) -> tuple[WorkUnit, Outcome]:
        while True:
            try:
                unit, future = ended.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                unit = future = None
            if self._client.status != "running":
                raise SchedulerLost(address=self._address, done=done, all=all)
            if future is None:
                continue
            if future.status == "finished":
                return unit, future.result()
            error = future.exception()
            if future.cancelled() or error is None:
                raise SchedulerLost(address=self._address, done=done, all=all)
            # Dask gives it up.
            return unit, WorkersDied.outcome(unit, ATTEMPTS)


@contextmanager
def joined(address: str, remote_mode: str | None) -> Iterator[Cluster]:
    """The workers of a scheduler, once they are found to be fit.

    Raises:
        NoScheduler, NoWorkers, NotOurs, OtherEnvironment.
    """
    quieten()
    with _client(address) as client:
        cluster = Cluster(client, address, remote_mode)
        cluster.check()
        yield cluster


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


def _close(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=2)

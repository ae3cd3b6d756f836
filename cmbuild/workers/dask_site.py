"""A site in a worker of Dask, which serves clients of any environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from distributed import Worker, WorkerPlugin, get_worker

from cmbuild.workers.environment import check
from cmbuild.workers.jobs import Job, Outcome
from cmbuild.workers.results import UnitResult
from cmbuild.workers.site import Site

if TYPE_CHECKING:
    from cmbuild.workers.units import WorkUnit

PLUGIN = "cmbuild"
"""The name under which a worker knows its site."""

_DEATH_SECONDS = 10


class DaskSite(Site, WorkerPlugin):  # type: ignore[misc]
    """A site that is a plugin of Dask's worker.

    Attributes:
        environment: this computer's.
    """

    name = PLUGIN

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__()
        self.environment = environment

    def setup(self, worker: Any) -> None:
        self._address = str(worker.address)

    def teardown(self, worker: Any) -> None:
        self.close()

    def perform(self, unit: WorkUnit, job: Job) -> UnitResult:
        """
        Raises:
            OtherEnvironment: the worker came after the client had looked.
        """
        check(self._address, self.environment, job.expected)
        return super().perform(unit, job)


def work(unit: WorkUnit, job: Job, *before: Outcome) -> Outcome:
    """Called by Dask's workers: see Site.work."""
    site: Site = get_worker().plugins[PLUGIN]
    return site.work(unit, job, before)


def environment_there(dask_worker: Any) -> Mapping[str, str] | None:
    """A worker's environment; None if it was not started by `cmbuild worker`."""
    site = dask_worker.plugins.get(PLUGIN)
    return site.environment if isinstance(site, DaskSite) else None


def stop_there(job: str, dask_worker: Any) -> None:
    """Ends a job's children on a worker."""
    site = dask_worker.plugins.get(PLUGIN)
    if isinstance(site, DaskSite):
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
        plugins=(DaskSite(environment),),
        memory_limit=0,
        dashboard=False,
        death_timeout=_DEATH_SECONDS,
    )
    async with worker:
        ready(worker.address)
        await worker.finished()

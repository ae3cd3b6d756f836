"""Workers of one computer for Dask, forked from a process that has imported what units need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import dask

from cmbuild.process import forked
from cmbuild.workers.cluster import QUIET_LOOPS, NoScheduler, quieten
from cmbuild.workers.dask_site import serve
from cmbuild.workers.environment import environment
from cmbuild.workers.site import preload

_NO_SCHEDULER = 3
"""Status of a forked worker that did not reach the scheduler; that of errors in Python is 1."""


def work(scheduler: str, count: int, name: str | None, ready: Callable[[str], None]) -> None:
    """Workers for a scheduler, until all have ended.

    Args:
        name: of the worker, or what the names of several begin with.
        ready: is called with each worker's address, in its process.

    Raises:
        NoScheduler: it cannot be reached.
    """
    quieten()
    dask.config.set(QUIET_LOOPS)
    here = environment()
    if count == 1:
        _serve(scheduler, name, here, ready)
        return
    preload()
    names = [name and f"{name}-{number}" for number in range(count)]
    if _NO_SCHEDULER in forked([partial(_status, scheduler, each, here, ready) for each in names]):
        raise NoScheduler(address=scheduler)


def _status(
    scheduler: str, name: str | None, here: Mapping[str, str], ready: Callable[[str], None]
) -> int:
    """Exit code of a worker's process, once that has ended."""
    try:
        _serve(scheduler, name, here, ready)
    except NoScheduler:
        return _NO_SCHEDULER
    return 0


def _serve(
    scheduler: str, name: str | None, here: Mapping[str, str], ready: Callable[[str], None]
) -> None:
    try:
        asyncio.run(serve(scheduler, name, here, ready))
    except (OSError, TimeoutError) as error:
        raise NoScheduler(address=scheduler) from error

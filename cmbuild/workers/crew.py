"""Workers of one computer, forked from a process that has imported what units need."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

import dask

from cmbuild.process import die_with
from cmbuild.workers.cluster import QUIET_LOOPS, NoScheduler, quieten
from cmbuild.workers.environment import environment
from cmbuild.workers.site import serve

_OF_UNITS = (
    *("cmbuild.tasks.run", "cmbuild.workers.units"),
    *("cmcompiler.importer.build", "cmcompiler.plan.planner"),
)
"""Modules that performing a unit would import."""

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
    for module in _OF_UNITS:
        import_module(module)
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(
            target=_forked,
            args=(os.getpid(), scheduler, name and f"{name}-{number}", here, ready),
            daemon=True,
        )
        for number in range(count)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode == _NO_SCHEDULER for worker in workers):
        raise NoScheduler(address=scheduler)


def _forked(
    parent: int,
    scheduler: str,
    name: str | None,
    here: Mapping[str, str],
    ready: Callable[[str], None],
) -> None:
    die_with(parent)
    try:
        _serve(scheduler, name, here, ready)
    except NoScheduler:
        sys.exit(_NO_SCHEDULER)
    except KeyboardInterrupt:  # of a terminal, to all processes: the parent ends with it
        sys.exit()


def _serve(
    scheduler: str, name: str | None, here: Mapping[str, str], ready: Callable[[str], None]
) -> None:
    try:
        asyncio.run(serve(scheduler, name, here, ready))
    except (OSError, TimeoutError) as error:
        raise NoScheduler(address=scheduler) from error

"""A scheduler of Dask in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from cmbuild.workers.cluster import quieten


@contextmanager
def scheduler() -> Iterator[str]:
    """The address of one without workers."""
    # Takes a second, which every process that collects tests would spend.
    from distributed import LocalCluster

    quieten()
    with LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address

"""Which workers a command is to use."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from cmbuild.errors import Missing, UsageError
from cmbuild.pipeline.values import Taken, value_of
from cmbuild.process import Processes
from cmbuild.workers.jobs import Workers
from cmbuild.workers.pool import Pool
from cmcompiler.installation import pip_command

EXTRA = "workers"

MOST = 1024
"""Workers on one computer."""

_SCHEDULER = Taken("scheduler", str)


class NoDask(Missing):
    template = "the Python package distributed is not installed; --scheduler needs it"


@dataclass(frozen=True, slots=True)
class WorkersChoice:
    """
    Attributes:
        workers: how many to start here, or a pool of some.
        scheduler: the address of one that has some.
    """

    workers: int | Pool | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.scheduler is not None:
            raise UsageError(
                message="--workers and --scheduler exclude each other",
                hint="--workers N for processes here, --scheduler URL for a cluster",
            )
        if not isinstance(self.workers, (Pool, NoneType)):
            if value_of(Taken("workers", int), self.workers) < 1:
                raise UsageError(message=f"{self.workers} workers requested; at least 1 is needed")
            if self.workers > MOST:
                raise UsageError(message=f"{self.workers} workers requested; at most {MOST} run")
        if self.scheduler is not None and "://" not in value_of(_SCHEDULER, self.scheduler):
            raise UsageError(
                message=f"{self.scheduler} is not the address of a scheduler",
                hint="--scheduler tcp://HOST:8786",
            )
        if self.scheduler is not None and importlib.util.find_spec("distributed") is None:
            raise NoDask(hint=pip_command(EXTRA))

    @property
    def is_chosen(self) -> bool:
        return self.workers is not None or self.scheduler is not None

    @contextmanager
    def opened(
        self, processes: Processes, logs: Path, remote_mode: str | None
    ) -> Iterator[Workers]:
        """The workers; those that are started here end with the context.

        Raises:
            CmbuildError: see cmbuild.workers.cluster.joined.
        """
        if self.scheduler is not None:
            from cmbuild.workers.cluster import joined

            with joined(self.scheduler, remote_mode) as cluster:
                yield cluster
        elif isinstance(self.workers, Pool):
            yield self.workers
        elif self.workers is not None:
            with Pool(self.workers, processes, logs, remote_mode) as pool:
                yield pool
        else:
            raise ValueError("no workers chosen")

"""Workers on this computer, for one command or for several calls at a time."""

from __future__ import annotations

import os
import queue
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from graphlib import TopologicalSorter
from itertools import chain
from multiprocessing.connection import Client, Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cmbuild.errors import Failed
from cmbuild.process import Processes, python_module
from cmbuild.workers.jobs import ATTEMPTS, Job, Outcome, WorkersDied

if TYPE_CHECKING:
    from types import TracebackType

    from cmbuild.workers.units import WorkUnit

_SERVER = "cmbuild.workers.fork_server"
_POLL_SECONDS = 0.02


class PoolEnded(Failed):
    template = "the workers have ended"
    hint = "{log} says why; run the command again: what was made is not made again"


class Pool:
    """Processes that live as long as its context; a thread of this process waits for each."""

    def __init__(
        self, count: int, processes: Processes, logs: Path, remote_mode: str | None = None
    ) -> None:
        self._processes = processes
        self._job = Job(uuid.uuid4().hex, remote_mode)
        self._log = logs / "workers.txt"
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")
        # The worker that was used last comes first: it has imported torch, if any has.
        self._idle = queue.LifoQueue[Connection | None]()
        for _ in range(count):
            self._idle.put(None)
        self._started = ExitStack()
        self._ended = threading.Event()

    def __enter__(self) -> Pool:
        # Paths of sockets are limited to 107 characters, so not in a folder of the user.
        folder = TemporaryDirectory(prefix="cmbuild-", ignore_cleanup_errors=True)
        self._socket = Path(self._started.enter_context(folder)) / "workers"
        command = [*python_module(_SERVER), os.fspath(self._socket)]
        work = self._processes.background(command, log=self._log, name="workers", cwd=Path.cwd())
        wait = self._started.enter_context(work)

        def watch() -> None:
            wait()
            self._ended.set()

        threading.Thread(target=watch, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._ended.set()
        self._started.close()
        self._threads.shutdown()

    def perform(
        self, units: Sequence[WorkUnit], needs: Sequence[Sequence[WorkUnit]]
    ) -> Iterator[tuple[WorkUnit, Outcome]]:
        """See Workers.perform.

        Raises:
            PoolEnded.
        """
        known = {unit.key: unit for unit in chain(*needs, units)}
        before = {
            unit.key: [each.key for each in earlier]
            for unit, earlier in zip(units, needs, strict=True)
        }
        outcomes: dict[str, Outcome] = {}
        ended = queue.SimpleQueue[tuple[str, Future[Outcome]]]()
        futures: list[Future[Outcome]] = []

        def submit(key: str) -> None:
            if self._ended.is_set():
                raise PoolEnded(log=self._log)
            needed = [outcomes[each] for each in before.get(key, ())]
            future = self._threads.submit(self._do, known[key], needed)
            futures.append(future)
            future.add_done_callback(lambda done: ended.put((key, done)))

        order = TopologicalSorter(before)
        order.prepare()
        try:
            while order.is_active():
                for key in order.get_ready():
                    submit(key)
                key, future = ended.get()
                outcomes[key] = future.result()
                order.done(key)
                yield known[key], outcomes[key]
        finally:
            for future in futures:
                future.cancel()

    def _do(self, unit: WorkUnit, before: Sequence[Outcome]) -> Outcome:
        for _ in range(ATTEMPTS):
            connection = self._idle.get()
            try:
                connection = connection or self._connected()
                connection.send((unit, self._job, before))
                outcome: Outcome = connection.recv()
                return outcome
            except (EOFError, OSError):  # the worker died
                connection = None
            finally:
                self._idle.put(connection)
        return WorkersDied.outcome(unit, ATTEMPTS)

    def _connected(self) -> Connection:
        """To a worker of its own.

        Raises:
            PoolEnded.
        """
        while not self._ended.is_set():
            try:
                connection: Connection = Client(os.fspath(self._socket), "AF_UNIX")
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(_POLL_SECONDS)
            else:
                return connection
        raise PoolEnded(log=self._log)

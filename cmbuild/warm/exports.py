"""A process that has imported torch already, and forks a child for each export."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from cmbuild.process import Processes, python_module

_SERVER, _CLIENT = "cmbuild.warm.server", "cmbuild.warm.client"


class WarmExports:
    """For processes that live for long and export often, as workers do.

    The process starts with the first export, and ends by itself if there are none for a while.
    """

    def __init__(self, logs: Path) -> None:
        self._log = logs / "warm-exports.txt"
        self._processes = Processes()
        self._lock = threading.Lock()
        self._started = ExitStack()
        self._waiting: threading.Thread | None = None
        self._socket = Path()

    def command(self) -> list[str]:
        """The command that does what `python -m cmcompiler` would, given its arguments after it."""
        with self._lock:
            if self._waiting is None or not self._waiting.is_alive():
                self._start()
            return [*python_module(_CLIENT), str(self._socket), ""]

    def close(self) -> None:
        """Ends the process, and exports that are at work."""
        with self._lock:
            self._started.close()

    def _start(self) -> None:
        self._started.close()
        # Paths of sockets are limited to 107 characters, so not in a folder of the user.
        folder = TemporaryDirectory(prefix="cmbuild-", ignore_cleanup_errors=True)
        self._socket = Path(self._started.enter_context(folder)) / "exports"
        command = [*python_module(_SERVER), str(self._socket), ""]
        work = self._processes.background(
            command, log=self._log, name="the process that exports", cwd=Path.cwd()
        )
        wait = self._started.enter_context(work)
        self._waiting = threading.Thread(target=wait, daemon=True)
        self._waiting.start()

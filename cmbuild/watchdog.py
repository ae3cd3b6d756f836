"""Ends processes that run too long or print too much."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from enum import Enum

LOG_LIMIT = 64 * 1024 * 1024
"""Bytes that a process may print."""

_PERIOD = 0.2  # seconds between checks of the log's size


class Limit(Enum):
    """Why a process was stopped."""

    TIME = "time"
    OUTPUT = "output"


class Watchdog:
    """While entered, stops a process that runs too long or prints too much."""

    def __init__(self, output: int, timeout: float | None, stop: Callable[[], None]) -> None:
        """
        Args:
            output: the file descriptor of what is printed.
        """
        self.reason: Limit | None = None
        self._stop = stop
        self._output = output
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(min(_PERIOD, max(0.0, self._deadline - time.monotonic()))):
            if time.monotonic() >= self._deadline:
                self.reason = Limit.TIME
            elif os.fstat(self._output).st_size > LOG_LIMIT:
                self.reason = Limit.OUTPUT
            if self.reason is not None:
                self._stop()
                return

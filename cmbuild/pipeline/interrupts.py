"""Signals that end a command: its children first, then the command itself."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from cmbuild.errors import Interrupted
from cmbuild.process import Processes

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Handlers for SIGNALS while a command runs."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._handlers: dict[int, object] = {}
        self._received = threading.Event()
        self._hook = sys.unraisablehook

    @property
    def received(self) -> bool:
        """Whether a signal was received."""
        return self._received.is_set()

    def listen(self) -> None:
        """From now on a signal ends the children and raises KeyboardInterrupt.

        Only the main thread can listen; in another one the program's own handlers stay.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            self._handlers[number] = signal.signal(number, self._receive)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._lost

    def ignore(self) -> None:
        """Restores the previous handlers."""
        if self._handlers:
            sys.unraisablehook = self._hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._handlers.clear()

    def check(self) -> None:
        """
        Raises:
            Interrupted: a signal was received.
        """
        if self.received:
            raise Interrupted()

    def _lost(self, unraisable: UnraisableHookArgs) -> None:
        """An interrupt within a finalizer, where Python prints exceptions: `check` will raise."""
        if not (self.received and issubclass(unraisable.exc_type, KeyboardInterrupt)):
            self._hook(unraisable)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        is_first = not self.received
        self._received.set()
        self._processes.terminate()
        # A second exception would interrupt the handling of the first: waiting for children to end.
        if is_first and not self._processes.is_starting:
            raise KeyboardInterrupt

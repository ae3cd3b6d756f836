"""`python -m cmbuild.warm.server SOCKET` imports what exports need, then forks a child for each."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from cmbuild.process import die_with

IDLE_SECONDS = 300.0
"""A server without requests ends after this time, since it holds 0.8 GB."""

_LONGEST = 1 << 16  # bytes of a request
_MODULES = (
    *("cmcompiler.__main__", "cmcompiler.frontend.export"),
    *(f"cmcompiler.frontend.{name}" for name in ("lowering", "quantization", "sensitivity")),
)


@dataclass(frozen=True, slots=True)
class _Export:
    """A child that exports, and the client that waits for it."""

    pid: int
    ended: int  # a pidfd
    client: socket.socket


def serve(place: Path, idle: float = IDLE_SECONDS) -> None:
    """Forks a child for each request, until none has come for a while.

    A child is as a fresh process would be after its imports: no export sees what another one did.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        new = place.with_name(f"{place.name}.new")
        listener.bind(os.fspath(new))
        listener.listen()
        new.rename(place)
        # Clients wait from here on, and an export names what is missing better.
        with suppress(ImportError):
            for name in _MODULES:
                import_module(name)
        _Server(listener, idle).run()


class _Server:
    def __init__(self, listener: socket.socket, idle: float) -> None:
        self._listener, self._idle = listener, idle
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._running = 0

    def run(self) -> None:
        while ready := self._selector.select(None if self._running else self._idle):
            for key, _ in ready:
                export: _Export | None = key.data
                if export is None:
                    self._accept()
                elif key.fileobj is export.client:
                    self._selector.unregister(export.client)
                    os.kill(export.pid, signal.SIGKILL)
                else:
                    self._end(export)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        message, streams, _, _ = socket.recv_fds(client, _LONGEST, 2)
        if len(streams) != 2:  # the client was killed
            client.close()
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._listener.close()
            client.close()
            _export(message, streams, parent)
        for stream in streams:
            os.close(stream)
        export = _Export(pid, os.pidfd_open(pid), client)
        for file in (export.ended, client):
            self._selector.register(file, selectors.EVENT_READ, export)
        self._running += 1

    def _end(self, export: _Export) -> None:
        _, status = os.waitpid(export.pid, 0)
        self._selector.unregister(export.ended)
        os.close(export.ended)
        with suppress(KeyError):  # it is known already that the client is gone
            self._selector.unregister(export.client)
        with export.client, suppress(OSError):
            export.client.send(str(status).encode())
        self._running -= 1


def _export(message: bytes, streams: list[int], parent: int) -> None:
    """In the child; does not return."""
    status = 1
    try:
        die_with(parent)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
            os.close(stream)
        folder, *jobs = json.loads(message)
        os.chdir(folder)
        status = _exported(jobs)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(status)


def _exported(jobs: list[str]) -> int:
    import numpy as np

    from cmcompiler.__main__ import main

    np.random.seed()  # a fork would repeat the numbers of the last one
    return main(["export", *jobs])


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
    os._exit(0)

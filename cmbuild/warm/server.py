"""`python -m cmbuild.warm.server SOCKET KEY` imports what exports need, and forks for each."""

from __future__ import annotations

import fcntl
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
from typing import Any

from cmbuild.process import die_with
from cmbuild.warm.client import ACCEPTED, OTHER, is_own

IDLE_SECONDS = 300.0
"""A server without requests ends after this time, since it holds 0.8 GB."""

_LONGEST = 1 << 17  # bytes of a request
_MODULES = (
    *("cmcompiler.__main__", "cmcompiler.frontend.export"),
    *(f"cmcompiler.frontend.{name}" for name in ("lowering", "quantization", "sensitivity")),
    # Imported by each export as it goes along: 0.6 s of processor time.
    *("torch.export._trace", "torch.export.pt2_archive", "torch._inductor.sizevars"),
    *("torch.fx.experimental.validator", "torch._subclasses.schema_check_mode"),
    "torch._export.passes.replace_with_hop_pass_util",
    "executorch.extension.flat_tensor.serialize.serialize",
    *(f"cmcompiler.frontend.{name}" for name in ("adaptation", "single_precision", "torchscript")),
    "cmcompiler.frontend.fidelity.check",
    # By the zoo and by many models of users, another 0.4 s.
    "torchvision.models",
)


@dataclass(frozen=True, slots=True)
class _Export:
    """A child that exports, and the client that waits for it."""

    pid: int
    ended: int  # a pidfd
    client: socket.socket


def serve(place: Path, key: str = "", idle: float = IDLE_SECONDS) -> None:
    """Forks a child for each request, until none has come for a while; returns at once if another
    server is there already.

    A child is as a fresh process would be after its imports: no export sees what another one did.

    Args:
        key: of the requests that it takes; another one ends it.
    """
    lock = os.open(place.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        new = place.with_name(f"{place.name}.new")
        new.unlink(missing_ok=True)
        listener.bind(os.fspath(new))
        listener.listen()
        new.rename(place)
        # Clients wait from here on, and an export names what is missing better.
        with suppress(ImportError):
            from cmcompiler.frontend.late_imports import delay

            delay()
        for name in _MODULES:
            with suppress(ImportError):
                import_module(name)
        server = _Server(listener, key, idle)
        server.run()
        # Whoever has connected since sees no answer, and exports itself.
        place.unlink(missing_ok=True)
    fcntl.flock(lock, fcntl.LOCK_UN)  # closed, it would be held by exports
    server.finish()


class _Server:
    def __init__(self, listener: socket.socket, key: str, idle: float) -> None:
        self._listener, self._key, self._idle = listener, key, idle
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._running = 0
        self._is_other = False

    def run(self) -> None:
        """Until no request has come for a while, or one with another key."""
        while not self._is_other:
            ready = self._selector.select(None if self._running else self._idle)
            if not ready:
                break
            self._handle(ready)
        self._selector.unregister(self._listener)

    def finish(self) -> None:
        """Waits for the exports that are at work."""
        while self._running:
            self._handle(self._selector.select())

    def _handle(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
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
        request = json.loads(message) if message and len(streams) == 2 and is_own(client) else None
        if request is None or request[0] != self._key:  # the client was killed, or is of another
            with client, suppress(OSError):
                client.send(OTHER)
            self._is_other = request is not None
            for stream in streams:
                os.close(stream)
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._listener.close()
            client.close()
            _export(request[1:], streams, parent)
        for stream in streams:
            os.close(stream)
        with suppress(OSError):
            client.send(ACCEPTED)
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


def _export(request: list[Any], streams: list[int], parent: int) -> None:
    """In the child; does not return."""
    status = 1
    try:
        die_with(parent)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
            os.close(stream)
        folder, environment, *arguments = request
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = ["cmcompiler", *arguments]
        status = _done(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(status)


def _done(arguments: list[str]) -> int:
    import numpy as np

    from cmcompiler.__main__ import main

    np.random.seed()  # a fork would repeat the numbers of the last one
    return main(arguments)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
    os._exit(0)

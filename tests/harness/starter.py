"""A process that has imported cmbuild already, and forks a child for each command of a test.

A child is as a fresh process would be after its imports, which take ten times as long as most
commands; its exports share one process that has imported torch. Run as a program, this file is
that process.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NoReturn

import cmbuild
import cmcompiler
from cmbuild.process import die_with, python_module

_LONGEST = 1 << 17  # bytes of a request
_APART = (
    *("cmcompiler.frontend.", "cmcompiler.zoo."),
    *("cmbuild.conformance.plugin", "cmbuild.pytest_plugin", "cmbuild.workers.crew"),
)
"""Modules that need torch, pytest or dask; those of the front end that do not, others import."""

_EXPORT = """
import os, sys
sys.path[:] = filter(None, sys.path)
from pathlib import Path
from cmbuild.warm.client import request
ended = request(Path(sys.argv[1]), sys.argv[2:])
sys.stdout.flush()
os._exit(ended)
"""
"""Does what `python -m cmcompiler export` does, after the path of a socket."""


class Starter:
    """Starts commands, until this process ends."""

    def __init__(self) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._control, other):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _LONGEST)
        # Paths of sockets are short.
        self._folder = TemporaryDirectory(prefix="cmbuild-")
        # It ends with its socket.
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno()), self._folder.name],
            pass_fds=[other.fileno()],
            cwd="/",
        )
        other.close()
        atexit.register(self._close)

    def _close(self) -> None:
        self._control.close()
        self._process.wait(timeout=60)
        self._folder.cleanup()

    def run(
        self,
        module: str,
        words: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[IO[str], IO[str]],
    ) -> int:
        """Runs `python -m MODULE WORDS…`.

        Args:
            streams: for standard output and errors.

        Returns: its exit code, or minus the signal that ended it.
        """
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = json.dumps([module, list(words), os.fspath(folder), dict(environment)])
        with here:
            with there:
                files = [there.fileno(), *(stream.fileno() for stream in streams)]
                socket.send_fds(self._control, [request.encode()], files)
            answer = here.recv(64)
        assert answer, f"the process that starts commands failed at {module} {words}"
        return int(answer)

    def exporting(self) -> list[str]:
        """What does as `python -m cmcompiler` would, given the words after it."""
        return _exporting(Path(self._folder.name))


@cache
def starter() -> Starter:
    """The one of this process."""
    return Starter()


_PLACE, _BELL = "exports", "bell"
"""Sockets: of the process that exports, and of the one that starts it."""


def _exporting(folder: Path) -> list[str]:
    """The command that exports, once the process for it is there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as bell:
        bell.settimeout(60)
        while bell.connect_ex(os.fspath(folder / _BELL)) != 0:
            time.sleep(0.05)  # the starter is still importing
        bell.recv(1)
    return [sys.executable, "-c", _EXPORT, os.fspath(folder / _PLACE)]


class _Exports:
    """Starts the process that exports when the first command wants it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._place = folder, folder / _PLACE
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(os.fspath(folder / _BELL))
        self.listener.listen()
        self._process: int | None = None

    def command(self, _: str = "cmcompiler") -> list[str]:
        """In a child: the command that exports."""
        return _exporting(self._folder)

    def start(self) -> None:
        """Answers a child when the process that exports has been started."""
        client, _ = self.listener.accept()
        with client:
            if self._process is None:
                self._place.unlink(missing_ok=True)
                parent = os.getpid()
                self._process = os.fork()
                if self._process == 0:
                    command = [*python_module("cmbuild.warm.server"), os.fspath(self._place), ""]
                    log = os.open(self._place.with_suffix(".txt"), os.O_CREAT | os.O_WRONLY)
                    os.dup2(log, 1)
                    os.dup2(log, 2)
                    die_with(parent)
                    os.execv(command[0], command)

    def ended(self, process: int) -> None:
        """It ends by itself if no export has come for a while."""
        if process == self._process:
            self._process = None


def _import_commands() -> None:
    """Imports what commands do, but neither torch nor what a few of them use."""
    for package in (cmbuild, cmcompiler):
        base = Path(package.__path__[0])
        for path in sorted(base.rglob("*.py")):
            name = ".".join((base.name, *path.relative_to(base).with_suffix("").parts))
            if path.stem not in ("__init__", "__main__") and not name.startswith(_APART):
                import_module(name)
    assert "torch" not in sys.modules, "no command may find it imported"


def _become_command(control: socket.socket, exports: _Exports) -> tuple[str, list[str]]:
    """Forks for each request; returns only in the children, with a module and its words."""
    while True:
        ready, _, _ = select.select([control, exports.listener], [], [])
        with suppress(ChildProcessError):
            while (process := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                exports.ended(process)
        if exports.listener in ready:
            exports.start()
        if control not in ready:
            continue
        message, files, _, _ = socket.recv_fds(control, _LONGEST, 3)
        if not message:
            os._exit(0)
        client, *streams = files
        if os.fork() == 0:
            control.close()
            exports.listener.close()
            child = os.fork()
            if child == 0:
                os.close(client)
                for number, stream in enumerate(streams, start=1):
                    os.dup2(stream, number)
                    os.close(stream)
                break
            for stream in streams:
                os.close(stream)
            _wait(child, client)
        for file in files:
            os.close(file)
    module, words, folder, environment = json.loads(message)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = str(Path.cwd())
    vars(import_module("cmbuild.pipeline.stages.export"))["python_module"] = exports.command
    return module, words


def _wait(child: int, client: int) -> NoReturn:
    """Tells the client how a command ended; ends the command if the client is gone."""
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([ended, client], [], [])
    if ended not in ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        os.write(client, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


_STATUS: list[int] = []  # of a command that has ended


def _end_at_once() -> None:
    """After all else that ends: to free what the starter imported would copy all of it."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(*_STATUS or (0,))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_commands()
    gc.freeze()
    name, words = _become_command(
        socket.socket(fileno=int(sys.argv[1])), _Exports(Path(sys.argv[2]))
    )
    sys.argv[1:] = words
    ends = atexit.register(_end_at_once)
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if type(ended.code) is not int:
            atexit.unregister(ends)
        else:
            _STATUS.append(ended.code)
        raise
    except BaseException:
        atexit.unregister(ends)
        raise

"""Child processes: the only place that starts them, logs them, limits them, and ends them."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cmbuild import watchdog
from cmbuild.errors import (
    CmbuildError,
    Interrupted,
    MissingTool,
    NoSpace,
    ProcessFailed,
    TimedOut,
)
from cmbuild.toolchain.diagnostics import telling_line
from cmbuild.watchdog import Limit, Watchdog

_GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_TAIL = 64 * 1024
_CLEANING = 20.0  # seconds that an attendant has to clean up
# A command whose process group is killed when the other end of its standard input is closed: by the
# starter, or by the kernel if the starter was killed. Otherwise compilers would outlive it.
_GUARDED = (
    "exec 3<&0 </dev/null; { read _ <&3; kill -s KILL -- -$$; } >/dev/null 2>&1 & "
    'exec 3<&-; exec "$@"'
)

# Variables that make children colour their output, which is read here. Jupyter sets both.
_FORCES_COLOUR = ("CLICOLOR_FORCE", "FORCE_COLOR")

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl

# `python -m` would import from the working folder first, where anyone may have put a numpy.py.
_RUN_MODULE = (
    "import sys; sys.path[:] = filter(None, sys.path); import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


Attendant = subprocess.Popen[bytes]
"""A process that its starter talks to."""


def python_module(name: str) -> list[str]:
    """The command that runs an installed module, without importing from the working folder."""
    return [sys.executable, "-c", _RUN_MODULE, name]


def detached(argv: Sequence[str]) -> None:
    """Starts a process that outlives this one, and has none of its files, terminal or folder."""
    subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def die_with(parent: int) -> None:
    """In a forked child: ends this process as its parent, given by its id, ends in any way."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it died before
        os._exit(1)


def forked(works: Sequence[Callable[[], int]]) -> list[int]:
    """Does each work in a process of its own, forked from this one, which has a single thread.

    They end with this process, in whatever way that ends.

    Returns: their exit statuses; of one that a signal ended, minus its number.
    """
    import multiprocessing

    context, parent = multiprocessing.get_context("fork"), os.getpid()
    children = [context.Process(target=_work, args=(each, parent), daemon=True) for each in works]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode or 0 for child in children]


def _work(work: Callable[[], int], parent: int) -> None:
    # Ctrl-C goes to all processes of a terminal: the parent says so, and takes this one with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent)
    sys.exit(work())


@dataclass(frozen=True, slots=True)
class Completed:
    """A process that ended by itself.

    Attributes:
        status: exit status, or minus the number of the signal that ended it.
        seconds: wall time.
        log: file with its whole output, standard error included.
    """

    argv: tuple[str, ...]
    status: int
    seconds: float
    log: Path

    @property
    def output(self) -> str:
        """Its output: the last 64 KiB."""
        with self.log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read().decode(errors="replace")

    @property
    def outcome(self) -> str:
        """How it ended, in words: `failed with status 2`, `was killed by SIGSEGV`."""
        if self.status >= 0:
            return f"failed with status {self.status}"
        try:
            return f"was killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"was killed by signal {-self.status}"

    def failure(self, name: str) -> CmbuildError:
        """The error for it, with the most informative line: the first error of a compiler or
        linker, else of git, CMake or a script of CMake's, else the last line that mentions one,
        else the last line. NoSpace if the disk is full.
        """
        if os.strerror(errno.ENOSPC) in self.output:
            return NoSpace(path=self.log.parent)
        detail = telling_line(self.output)
        return ProcessFailed(name=name, outcome=self.outcome, detail=detail, log=self.log)


@dataclass(frozen=True, slots=True)
class Background:
    """A process that runs meanwhile.

    Attributes:
        start: when it was started.
    """

    words: tuple[str, ...]
    process: subprocess.Popen[bytes]
    start: float
    log: Path

    def __call__(self) -> Completed:
        """Waits until it ends by itself."""
        status = self.process.wait()
        return Completed(self.words, status, time.monotonic() - self.start, self.log)

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None


class Processes:
    """The child processes of one command, each in its own process group, so that all can be ended.

    Safe to use from several threads. Only the handler of Ctrl-C calls `end`.

    Args:
        echo: gets the command line of each child as it starts, ready to paste into a shell.
    """

    def __init__(self, echo: Callable[[str], None] | None = None) -> None:
        self._echo = echo
        self._lock = threading.RLock()  # a signal handler may run while it is held
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = threading.Event()
        self._starter: int | None = None

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        timeout: float | None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        listener: Callable[[str], None] | None = None,
        name: str | None = None,
        install: str | None = None,
    ) -> Completed:
        """Runs a command to its end, with no standard input.

        Args:
            log: file that gets its standard output and error; overwritten.
            timeout: seconds after which it is stopped, or None for tools that are known to end.
            env: variables on top of this process's own.
            check: raise if the status is not 0.
            listener: gets each line of standard output as it comes; the log then has only
                standard error.
            name: what to call it in errors; by default the name of its program.
            install: hint for when the program is missing: how to get it.

        Raises:
            MissingTool: no such program.
            ProcessFailed: `check` and it failed, or it printed more than 64 MiB.
            TimedOut: it ran for longer than `timeout`.
            Interrupted: `end` was called.
        """
        words = tuple(str(word) for word in argv)
        name = name or Path(words[0]).name
        if self._echo is not None:
            place = "" if cwd is None else f"cd {shlex.quote(str(cwd))} && "
            self._echo(place + shlex.join(words))
        start = time.monotonic()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            streams = _Streams(subprocess.PIPE if listener else output.fileno(), output.fileno())
            process = self._start(words, streams, name=name, install=install, cwd=cwd, env=env)
            guard = Watchdog(output.fileno(), timeout, lambda: _stop(process))
            try:
                with guard:
                    if process.stdout is not None and listener is not None:
                        _listen(process.stdout, listener)
                    status = process.wait()
            except BaseException:
                _stop(process)
                raise
            finally:
                self._forget(process)
        completed = Completed(words, status, time.monotonic() - start, log)
        if self._ended.is_set():
            raise Interrupted()
        if guard.reason is Limit.TIME:
            raise TimedOut(name=name, seconds=timeout, log=log)
        if guard.reason is Limit.OUTPUT:
            detail = f"it printed more than {watchdog.LOG_LIMIT >> 20} MiB"
            raise ProcessFailed(name=name, outcome="was stopped", detail=detail, log=log)
        if check and status != 0:
            raise completed.failure(name)
        return completed

    @contextlib.contextmanager
    def background(
        self, argv: Sequence[str | Path], *, log: Path, name: str, cwd: Path
    ) -> Iterator[Background]:
        """A command that runs while the context is entered.

        Args:
            log: file that gets its standard output and error; overwritten.
            name: what to call it in errors.

        Raises:
            MissingTool: there is no such program.
            Interrupted: `end` was called before.
        """
        words, start = tuple(map(str, argv)), time.monotonic()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            streams = _Streams(output.fileno(), output.fileno())
            process = self._start(words, streams, name=name, install=None, cwd=cwd, env=None)
        try:
            yield Background(words, process, start, log)
        finally:
            _stop(process)
            self._forget(process)

    @contextlib.contextmanager
    def attendant(self, argv: Sequence[str | Path], *, log: Path) -> Iterator[Attendant]:
        """A process that cleans up and ends by itself when its standard input is closed: at the end
        of the context, or by the kernel if this process is killed. So nothing else ends it.

        Args:
            log: file that gets its standard error; overwritten.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        if self._echo is not None:
            self._echo(shlex.join(map(str, argv)))
        with log.open("wb") as output:
            process = subprocess.Popen(
                list(map(str, argv)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            assert process.stdin is not None and process.stdout is not None
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            try:
                process.wait(_CLEANING)
            except subprocess.TimeoutExpired:
                _stop(process)

    def foreground(self, argv: Sequence[str | Path], *, cwd: Path) -> int:
        """Runs an interactive program, which gets the terminal and Ctrl-C.

        Returns: its exit status.
        """
        # The program would inherit an ignored signal.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.run(list(map(str, argv)), cwd=cwd, check=False).returncode
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def is_ended(self) -> bool:
        """Whether `terminate` or `end` was called, which also ends other waits."""
        return self._ended.is_set()

    def terminate(self) -> None:
        """Asks every child to end, and starts no more; may be called by signal handlers."""
        with self._lock:
            self._ended.set()
            for process in self._running:
                _signal(process, signal.SIGTERM)

    @property
    def is_starting(self) -> bool:
        """Whether this thread is about to start a child: an exception of a signal handler would
        lose it now. After `terminate`, `run` raises Interrupted by itself.
        """
        return self._starter == threading.get_ident()

    def end(self) -> None:
        """Ends every child, and starts no more."""
        self.terminate()
        with self._lock:
            running = list(self._running)
        for process in running:
            _stop(process)

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        """Forgets a process that has ended, and ends its remaining children."""
        assert process.stdin is not None
        process.stdin.close()
        with self._lock:
            self._running.discard(process)

    def _start(
        self,
        words: tuple[str, ...],
        streams: _Streams,
        *,
        name: str,
        install: str | None,
        cwd: Path | None,
        env: Mapping[str, str] | None,
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ended.is_set():
                raise Interrupted()
            self._starter = threading.get_ident()
            try:
                process = subprocess.Popen(
                    ("/bin/sh", "-c", _GUARDED, "sh", *words) if shutil.which(words[0]) else words,
                    stdin=subprocess.PIPE,
                    stdout=streams.output,
                    stderr=streams.error,
                    cwd=cwd,
                    env=_environment(env or {}),
                    start_new_session=True,
                )
            except (FileNotFoundError, PermissionError) as error:
                if cwd is not None and not cwd.is_dir():
                    raise
                hint = MissingTool.hint if install is None else install
                raise MissingTool(tool=name, hint=hint) from error
            else:
                self._running.add(process)
            finally:
                self._starter = None
            if self._ended.is_set():
                _signal(process, signal.SIGTERM)
            return process


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """This process's own variables with others on top."""
    own = {name: value for name, value in os.environ.items() if name not in _FORCES_COLOUR}
    return {**own, **added}


@dataclass(frozen=True, slots=True)
class _Streams:
    """A child's standard output and error."""

    output: int
    error: int


def _listen(stream: IO[bytes], listener: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            listener(line.decode(errors="replace").rstrip("\r\n"))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its children, politely first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)

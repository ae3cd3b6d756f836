"""`python -m cmbuild.warm.client SOCKET KEY WORDS...` has a server do what cmcompiler would.

It prints the same events and has the same exit status as `python -m cmcompiler WORDS...`. If it is
killed, so is the export. Without a server for KEY, it exports itself, and then starts one for those
that follow. It imports next to nothing.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

ACCEPTED, OTHER = b"accepted", b"other"
"""The first answer of a server; OTHER if it is for another key, which it then gives way to."""

_START_SECONDS = 10.0  # until a server that is being started listens, before it imports anything
_LONGEST = 64  # bytes of an answer
_MEMORY = 2 << 20  # KiB that are free where a server is started, which holds 0.8 GB
_CREDENTIALS = "3i"  # process, user, group


def request(place: Path, arguments: Sequence[str], key: str = "", *, awaited: bool = True) -> int:
    """Has the work of cmcompiler done, with the folder, variables, output and errors of this
    process.

    Args:
        awaited: someone else has just started the server; otherwise this starts one if there is
            none.

    Returns: the exit status; if a signal ended the child, it ends this process too.
    """
    server = _connected(place, awaited)
    if server is not None:
        with server:
            if _accepts(server, key, arguments):
                return _answer(server)
    from cmcompiler.__main__ import main

    status = main(list(arguments))
    if not awaited:
        # Only now: until here the two would have competed for the processor.
        _start_server(place, key)
    return status


def is_own(other: socket.socket) -> bool:
    """Whether the process at the other end is of the same user."""
    size = struct.calcsize(_CREDENTIALS)
    found = other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return bool(struct.unpack(_CREDENTIALS, found)[1] == os.getuid())


def _accepts(server: socket.socket, key: str, arguments: Sequence[str]) -> bool:
    """Sends the request; False if the server has another key, ends just now, or is not ours."""
    if not is_own(server):
        return False
    message = json.dumps([key, os.fspath(Path.cwd()), dict(os.environ), *arguments]).encode()
    with suppress(OSError):  # it has ended, or the message is too long for it
        socket.send_fds(server, [message], [1, 2])
        return server.recv(_LONGEST) == ACCEPTED
    return False


def _answer(server: socket.socket) -> int:
    answer = server.recv(_LONGEST)
    if not answer:
        print("error: the process that exports was killed", file=sys.stderr)
        return 1
    status = int(answer)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _connected(place: Path, awaited: bool) -> socket.socket | None:
    """None if there is no server."""
    deadline = time.monotonic() + (_START_SECONDS if awaited else 0.0)
    while True:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            server.connect(os.fspath(place))
        except FileNotFoundError:
            server.close()
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.02)
        except OSError:
            server.close()
            return None
        else:
            return server


def _start_server(place: Path, key: str) -> None:
    """Starts one that outlives this process, unless memory is short."""
    if _free_memory() < _MEMORY:
        return
    from cmbuild.process import detached, python_module

    with suppress(OSError):
        detached([*python_module("cmbuild.warm.server"), os.fspath(place), key])


def _free_memory() -> int:
    """In KiB."""
    with suppress(OSError, ValueError), Path("/proc/meminfo").open() as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1])
    return 0


if __name__ == "__main__":
    sys.argv, words = ["cmcompiler", *sys.argv[3:]], sys.argv[1:]
    ended = request(Path(words[0]), words[2:], words[1], awaited=not words[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended)

"""`python -m cmbuild.warm.client SOCKET JOB.json...` has a server export, as cmcompiler would.

It prints the same events and has the same exit status as `python -m cmcompiler export`. If it is
killed, so is the export. Without a server, it exports itself. It imports next to nothing.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

_START_SECONDS = 10.0  # until a server listens, before it imports anything
_LONGEST = 64  # bytes of an answer


def request(place: Path, jobs: list[str]) -> int:
    """Has jobs exported, with the current folder, output and errors of this process.

    Returns: the exit status; if a signal ended the child, it ends this process too.
    """
    server = _connected(place)
    if server is None:
        from cmcompiler.__main__ import main

        return main(["export", *jobs])
    with server:
        message = json.dumps([os.fspath(Path.cwd()), *jobs]).encode()
        socket.send_fds(server, [message], [1, 2])
        answer = server.recv(_LONGEST)
    if not answer:
        print("error: the process that exports was killed", file=sys.stderr)
        return 1
    status = int(answer)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _connected(place: Path) -> socket.socket | None:
    """None if there is no server."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            server.connect(os.fspath(place))
        except FileNotFoundError:
            server.close()
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
        except OSError:
            server.close()
            return None
        else:
            return server


if __name__ == "__main__":
    ended = request(Path(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended)

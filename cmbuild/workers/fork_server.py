"""`python -m cmbuild.workers.fork_server SOCKET` forks a worker for each connection to a pool."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from cmbuild.process import die_with
from cmbuild.workers.site import Site, preload


def serve(place: Path) -> None:
    """Forks workers until this process is ended; they end with it, or with their connection."""
    # Work that is ended then leaves files here, which go with the folder of the pool.
    os.environ["TMPDIR"] = os.fspath(place.parent)
    new = place.with_name(f"{place.name}.new")
    with Listener(os.fspath(new), "AF_UNIX") as listener:
        new.rename(place)  # connections wait from here on
        preload()
        server = os.getpid()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # leaves no zombies
        while True:
            connection = listener.accept()
            if os.fork() == 0:
                die_with(server)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _work(connection)
            connection.close()


def _work(connection: Connection) -> None:
    """In the worker; does not return."""
    site = Site()
    try:
        while True:
            unit, job, before = connection.recv()
            connection.send(site.work(unit, job, before))
    except (EOFError, OSError):  # the client needs it no more
        site.close()
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

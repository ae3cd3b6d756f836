"""Locks between processes: one for each build folder and each entry of the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cmbuild.files import unwritable

_POLL = 0.2  # seconds between attempts; also how long Ctrl-C may go unnoticed in a thread


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock file `path`, which stays there when released.

    Args:
        waiting: called each time another process still has the lock, at least once if any has;
            what it raises ends the wait.

    Raises:
        NotWritable: there can be no such file.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            while not lock.is_locked:
                try:
                    lock.acquire(timeout=_POLL, poll_interval=0.05)
                except Timeout:
                    waiting()
    except OSError as error:
        raise unwritable(path.parent, error) from error
    try:
        yield
    finally:
        lock.release()

"""Locks between processes: one for each build folder and each entry of the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cmbuild.files import unwritable

_POLL = 0.2  # seconds between attempts; also how long Ctrl-C may go unnoticed in a thread


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock file `path`, which remains when released.

    Args:
        waiting: called repeatedly while another process has the lock, at least once; an
            exception ends the wait.

    Raises:
        NotWritable: the file cannot be created.
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

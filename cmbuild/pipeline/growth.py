"""How far a program has come, from a file that it writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cmbuild.pipeline.events import Portion

_SECONDS = 0.25  # between two looks


@contextmanager
def samples_written(
    file: Path, size: int, count: int, report: Callable[[str, Portion], None]
) -> Iterator[None]:
    """Reports how many of several samples have been written, while the context is entered.

    Args:
        size: bytes of each; of 0 nothing is known, nor of one sample before it is done.
        report: is called by a thread, with the number in words and as a share.
    """
    ended = threading.Event()

    def look() -> None:
        last = 0
        while last < count and not ended.wait(_SECONDS):
            try:
                now = file.stat().st_size // size
            except OSError:
                continue
            if now != last:
                last = now
                report(f"{now:,} of {count:,}", Portion(now / count, next=(now + 1) / count))

    if size == 0 or count < 2:
        yield
        return
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

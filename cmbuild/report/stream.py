"""Lines to a reader who may have seen enough, or never was there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO


def open_closed_streams() -> None:
    """Standard streams that this process began without (`>&-`) go nowhere.

    Otherwise the next file to be opened would be what children take for theirs.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("r" if name == "stdin" else "w")  # noqa: SIM115
            setattr(sys, name, nowhere)


def write(text: str, stream: IO[str]) -> None:
    """Writes a line at once. When nobody reads any more, it and all that follows go nowhere.

    Raises:
        NoSpace, NotWritable: the file behind the stream cannot be written.
    """
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        _close(stream)
    except OSError as error:
        from cmbuild.disk import unwritable

        _close(stream)  # what it still holds would be tried again, and again fail, at the end
        raise unwritable(Path("standard output"), error) from error


def _close(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

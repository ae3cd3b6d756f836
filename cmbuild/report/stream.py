"""Output to any reader: a closed pipe, one without UTF-8, a terminal that obeys escapes."""

from __future__ import annotations

import codecs
import os
import re
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import IO

_ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "×": "x", "–": "-", "−": "-", "…": "...", "→": "->", "≈": "~"}
    | {"±": "+-", "≥": ">=", "≤": "<=", "·": "-", "µ": "u"}
    | dict.fromkeys("▌▋▊▉█", "#")
    | dict.fromkeys("▏▎▍", "")
    | dict(zip("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "-/|\\-/|\\-/", strict=False))
    | dict(zip("▁▂▃▄▅▆▇", ".:-=+*%", strict=True))
)
"""Replacements for the marks of a report where they cannot be printed."""

# C0 and C1 controls except tab and newline, and marks that change the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def prepare_streams() -> None:
    """Makes standard streams accept every character of a report.

    Closed ones (`>&-`) become /dev/null: otherwise the next file opened would become the standard
    stream of child processes. Characters that their encoding lacks are replaced.
    """
    codecs.register_error("cmbuild.ascii", _stand_in)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("r" if name == "stdin" else "w")  # noqa: SIM115
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="cmbuild.ascii")


def printable(text: str) -> str:
    """The text with each control character replaced; the length stays the same."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    wanted = error.object[error.start : error.end].translate(_ASCII)
    return wanted.encode("ascii", "replace").decode(), error.end


def write(text: str, stream: IO[str]) -> None:
    """Writes a line at once. After the reader has gone, it and all later lines are dropped.

    Raises:
        NoSpace, NotWritable: the file behind the stream cannot be written.
    """
    try:
        print(printable(text), file=stream, flush=True)
    except BrokenPipeError:
        _close(stream)
    except OSError as error:
        from cmbuild.files import unwritable

        _close(stream)  # its buffer would be written again at exit, and fail again
        raise unwritable(Path("standard output"), error) from error


def _close(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

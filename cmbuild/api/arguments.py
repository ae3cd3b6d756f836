"""Arguments of the functions that are not options of a request: as typed, or one line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cmbuild.errors import UsageError
from cmbuild.pipeline.values import Taken, value_of
from cmbuild.text import shortened

_MOST_JOBS = 1024


def optional_path(name: str, value: str | Path | None) -> Path | None:
    path: Path | None = None if value is None else value_of(Taken(name, Path), value)
    return path


def text(name: str, value: object) -> str:
    written: str = value_of(Taken(name, str), value)
    return written


def flag(name: str, value: bool) -> bool:
    chosen: bool = value_of(Taken(name, bool), value)
    return chosen


def count(name: str, value: int) -> int:
    """A number of things that are done at once."""
    wanted = f"a number from 1 to {_MOST_JOBS}"
    number: int = value_of(Taken(name, int, wanted, lambda n: 1 <= n <= _MOST_JOBS), value)
    return number


def names(name: str, value: str | Path | Iterable[str | Path]) -> list[str]:
    """One or several names."""
    several: list[object] = [value]
    if not isinstance(value, (str, os.PathLike)):
        try:
            several = list(value)
        except TypeError:
            message = f"{name}={shortened(value)}: expected a name, or several"
            raise UsageError(message=message) from None
    return [text(name, str(each) if isinstance(each, os.PathLike) else each) for each in several]

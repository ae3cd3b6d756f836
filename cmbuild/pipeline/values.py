"""Values that callers give for options and arguments: of the right type, or one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from cmbuild.errors import UsageError
from cmbuild.files import check_output_folder, check_utf8
from cmbuild.text import shortened

_NUMBERS = 1 << 63

_WORDS = {
    bool: "True or False",
    int: "a number",
    float: "a positive number",
    str: "text",
    Path: "a path",
    tuple[str, str]: "pairs of text",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """The values that an option or argument takes.

    Attributes:
        name: as callers write it.
        kind: bool, int, float, str, Path, or a pair of str.
        wanted: all that it takes, in words, if the kind does not say it.
        allows: whether it takes a value of this kind.
        is_output: a folder that is created if missing.
    """

    name: str
    kind: type
    wanted: str = ""
    allows: Callable[[Any], bool] = lambda value: True
    is_output: bool = False


def value_of(taken: Taken, value: object) -> Any:
    """
    Raises:
        UsageError: it is not taken.
    """
    is_pair = taken.kind == tuple[str, str]
    converted = _pair(value) if is_pair else _converted(taken.kind, value)
    if converted is None or not taken.allows(converted):
        wanted = taken.wanted or _WORDS[taken.kind]
        raise UsageError(message=f"{taken.name}={shortened(value)}: expected {wanted}")
    if isinstance(converted, (str, Path)):
        check_utf8(converted)
    if taken.is_output and isinstance(converted, Path):
        check_output_folder(converted)
    return converted


def _pair(value: object) -> object | None:
    is_pair = isinstance(value, tuple) and [type(part) for part in value] == [str, str]
    return value if is_pair else None


def _converted(kind: type, value: object) -> object | None:
    """The value as one of this kind; None if it does not stand for one."""
    if kind is bool or isinstance(value, bool):
        return value if kind is bool and isinstance(value, bool) else None
    if kind is int:
        number = int(value) if isinstance(value, Integral) else None
        return number if number is not None and abs(number) < _NUMBERS else None
    if kind is float:
        try:
            return float(value) if isinstance(value, Real) else None
        except OverflowError:
            return None
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or isinstance(value, Enum) or "\0" in value:
        return None
    return Path(value) if kind is Path else value

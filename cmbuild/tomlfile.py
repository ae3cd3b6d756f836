"""TOML files of users: any content is a document, or one line with file and line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmbuild.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_BYTES = 16 << 20
_MOST_DEPTH = 64
_MARK = "\ufeff"
_INTEGERS = range(-(1 << 63), 1 << 63)  # https://toml.io/en/v1.0.0#integer
_DIGITS = re.compile(r"[0-9_]{1000,}")  # far fewer than Python converts to a number


class BrokenFile(UsageError):
    template = "{path}{line}: {key}{problem}"


def read_text(path: Path) -> str:
    """
    Raises:
        BrokenFile: not found, unreadable, or not text in UTF-8.
    """
    try:
        if path.exists() and not path.is_file():
            raise _broken(path, "is not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise _broken(path, f"is larger than {_MOST_BYTES >> 20} MiB")
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise _broken(path, "not found") from error
    except OSError as error:
        raise _broken(path, f"unreadable: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise _broken(path, f"unreadable: {error}") from error
    if text.startswith(_MARK):
        problem = "starts with a byte order mark; save it as UTF-8 without one"
        raise _broken(path, problem, line=1)
    return text


def read_document(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a file, and its tables.

    Raises:
        BrokenFile: as read_text, or it is not TOML, or has numbers or depths that none needs.
    """
    text = read_text(path)
    if match := _DIGITS.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise _broken(path, "a number has too many digits", line=line)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, error) from error
    except RecursionError as error:
        raise _broken(path, "is nested too deeply") from error
    for key, value in _leaves(document, ()):
        if len(key) > _MOST_DEPTH:
            raise _broken(path, "is nested too deeply")
        if isinstance(value, int) and value not in _INTEGERS:
            raise _broken(path, f"{'.'.join(key)}: the number has more than 64 bits")
    return text, document


def _leaves(value: object, key: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """All values that are not tables or arrays, and those that lie too deep."""
    ahead = [(key, value)]
    while ahead:
        key, value = ahead.pop()
        if len(key) > _MOST_DEPTH or not isinstance(value, (dict, list)):
            yield key, value
        elif isinstance(value, dict):
            ahead += [((*key, name), item) for name, item in value.items()]
        else:
            ahead += [((*key, str(index)), item) for index, item in enumerate(value)]


def _broken(path: Path, problem: str, line: int | None = None) -> BrokenFile:
    return BrokenFile(path=path, line="" if line is None else f":{line}", key="", problem=problem)


def _syntax_error(path: Path, error: tomllib.TOMLDecodeError) -> BrokenFile:
    match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
    problem, line = (match[1], int(match[2])) if match else (str(error), None)
    return _broken(path, problem, line)

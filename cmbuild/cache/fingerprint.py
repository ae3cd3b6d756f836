"""Digests of everything that a result depends on: equal digests mean an equal result."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Union

Value = Union[str, int, float, bool, None, Enum, Path, "Sequence[Value]", "Mapping[str, Value]"]
"""A fingerprint's parts. A path stands for the content found there, not for its name."""

_BLOCK = 1 << 20  # a user's file may have gigabytes

LENGTH = 32
"""Hexadecimal digits of a fingerprint."""


def fingerprint(**parts: Value) -> str:
    """The digest of named parts; files and folders among them count with their content."""
    text = json.dumps({name: _plain(part) for name, part in parts.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def digest(path: Path) -> str:
    """The digest of a file's bytes, of a folder's files with their names, or `absent`.

    Raises:
        OSError: it exists but cannot be read.
    """
    if path.is_dir():
        return _digest_of_files((file.relative_to(path).as_posix(), file) for file in files(path))
    total = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                total.update(block)
    except FileNotFoundError:
        return "absent"
    return total.hexdigest()


def files(folder: Path) -> list[Path]:
    """The files below a folder in a fixed order, except those that editors and Python leave."""
    paths: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if _counts(name)]
        paths += [Path(place, name) for name in names if _counts(name)]
    return sorted(path for path in paths if path.is_file())


def _counts(name: str) -> bool:
    return not name.startswith(".") and name != "__pycache__"


def _digest_of_files(named: Iterable[tuple[str, Path]]) -> str:
    total = hashlib.sha256()
    for name, path in named:
        total.update(os.fsencode(f"{name}\0{digest(path)}\n"))
    return total.hexdigest()


def _plain(value: Value) -> object:
    if isinstance(value, Path):
        return {"content": digest(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {"mapping": {key: _plain(item) for key, item in value.items()}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value

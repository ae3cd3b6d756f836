"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from cmbuild.disk import unwritable


def copy(source: Path, target: Path) -> None:
    """Copies a file; folders on the way are made.

    Raises:
        NotWritable, NoSpace: the target cannot be written.
    """
    _put(target, source.read_bytes)


def write(target: Path, text: str) -> None:
    """Writes a text file; folders on the way are made.

    Raises:
        NotWritable, NoSpace: the target cannot be written.
    """
    _put(target, text.encode)


def _put(target: Path, content: Callable[[], bytes]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content())
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(target.parent, error) from error

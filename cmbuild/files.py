"""Files that appear whole or not at all, templates, and errors about disks one cannot write to."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from cmbuild.errors import CmbuildError, NoSpace, NotWritable, UsageError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# A tool that ran out of space may have removed its output by now, so nearly full counts as full.
_PROBE_BYTES = 1 << 20

LARGEST_INPUT = 1 << 32
"""Largest input file in bytes: nothing for a Cortex-M is larger."""


class NotUtf8(UsageError):
    template = "{text!a} is not UTF-8"
    hint = "rename it: builds, records and reports name it in UTF-8"


_SURROGATE = re.compile("[\ud800-\udfff]")


def check_utf8(*names: str | Path) -> None:
    """Raises NotUtf8 for the first text or path that holds other bytes."""
    for name in names:
        if _SURROGATE.search(str(name)):
            raise NotUtf8(text=str(name))


def check_input(file: Path) -> None:
    """Checks that a user's file can be read.

    Raises:
        UsageError: it does not exist, is not a file, is too large, or is not readable.
    """
    try:
        size = file.stat().st_size
        if file.is_dir():
            raise UsageError(message=f"no such file: {file}")
        if not file.is_file():
            raise UsageError(message=f"{file} is a device or a pipe; expected a file")
        if size > LARGEST_INPUT:
            limit = f"at most {LARGEST_INPUT >> 30} GiB"
            raise UsageError(message=f"{file} has {size:,} bytes; expected {limit}")
        file.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(message=f"no such file: {file}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(message=f"cannot read {file}: {reason}") from error


def check_output_folder(folder: Path | None) -> None:
    """Raises UsageError if the path exists and is not a folder."""
    for place in (folder, *folder.parents) if folder is not None else ():
        if place.exists():
            if not place.is_dir():
                raise UsageError(message=f"{place} is not a folder", hint="name another one")
            return


def copy(source: Path, target: Path) -> None:
    """Copies a file; missing folders are created.

    Raises:
        NotWritable, NoSpace: the target cannot be written.
    """
    _put(target, source.read_bytes)


def write(target: Path, text: str) -> None:
    """Writes a text file; missing folders are created.

    Raises:
        NotWritable, NoSpace: the target cannot be written.
    """
    _put(target, text.encode)


def put(target: Path, content: bytes) -> None:
    """Writes a file; missing folders are created.

    Raises:
        NotWritable, NoSpace: the target cannot be written.
    """
    _put(target, lambda: content)


def _put(target: Path, content: Callable[[], bytes]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content())
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise unwritable(target.parent, error) from error


def unwritable(path: Path, error: OSError) -> CmbuildError:
    """The error for a folder that could not be written."""
    if error.errno in NO_ROOM:
        return NoSpace(path=path)
    return NotWritable(path=path, reason=(error.strerror or str(error)).lower())


def is_full(folder: Path) -> bool:
    """Whether the disk that holds a folder, or will, is full: less than a MiB is free."""
    place = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place, buffering=0) as probe:
            probe.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return error.errno in NO_ROOM
    return False


def fill(template: Path, values: Mapping[str, object]) -> str:
    """A Jinja template, filled with values."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template.read_text()).render(values)

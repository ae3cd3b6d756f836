"""Disks that cannot be written: full, or not for this user."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from cmbuild.errors import CmbuildError, NoSpace, NotWritable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

_PROBE_BYTES = 4096


def unwritable(path: Path, error: OSError) -> CmbuildError:
    """The error for a folder that could not be written."""
    if error.errno in NO_ROOM:
        return NoSpace(path=path)
    return NotWritable(path=path, reason=(error.strerror or str(error)).lower())


def is_full(folder: Path) -> bool:
    """Whether the disk that holds a folder, or will, has no room for one more small file."""
    place = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place, buffering=0) as probe:
            probe.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return error.errno in NO_ROOM
    return False

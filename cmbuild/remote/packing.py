"""Folders as bytes: the same files give the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that the format can express
_MOST_BYTES = 4 << 30
_LEVEL = 1  # weights hardly compress; zeros and text do at once


class NotPacked(Exception):
    """The bytes are not a packed folder."""


def pack(folder: Path, without: Iterable[str] = ()) -> bytes:
    """All files below a folder.

    Args:
        without: names of files at its top that stay behind.
    """
    left = {folder / name for name in without}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path not in left:
                name = path.relative_to(folder).as_posix()
                archive.writestr(_info(name), path.read_bytes())
    return buffer.getvalue()


def unpack(data: bytes, folder: Path) -> None:
    """Writes the files of `pack` into a folder; nothing outside of it.

    Raises:
        NotPacked: they are not from `pack`; no file was written.
        OSError: the folder cannot be written.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > _MOST_BYTES:
                raise NotPacked("too large")
            files = {_checked(name): archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise NotPacked(str(error)) from error
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _checked(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name:
        raise NotPacked(f"{name!r} is not the name of a file below a folder")
    return path

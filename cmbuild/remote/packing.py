"""Folders as bytes: the same files give the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that the format can express
_MOST_BYTES = 4 << 30
_LONGEST_NAME = 255  # bytes of a file's name on Linux
_LONGEST_PATH = 1024  # far below the 4,095 of a path on Linux, as the folder's own comes before it
_BLOCK = 1 << 20
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
        NotPacked: they are not from `pack`. The folder may hold some of the files then, but none
            if their names or sizes tell.
        OSError: the folder cannot be written.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > _MOST_BYTES:
                raise NotPacked("too large")
            if any(info.compress_type != zipfile.ZIP_DEFLATED for info in infos):
                raise NotPacked("another method of compression")
            for info, name in zip(infos, _checked([info.filename for info in infos]), strict=True):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as packed, path.open("wb") as file:
                    while block := packed.read(_BLOCK):
                        file.write(block)
    except (NotPacked, OSError):  # archives are read from memory: the folder's
        raise
    except Exception as error:  # zipfile raises anything for what it did not write
        raise NotPacked(str(error)) from error


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _checked(names: Sequence[str]) -> list[PurePosixPath]:
    """The paths of files that can all lie below one folder."""
    paths = list(map(PurePosixPath, names))
    folders = {parent for path in paths for parent in path.parents}
    for name, path in zip(names, paths, strict=True):
        if path.is_absolute() or str(path) != name or ".." in path.parts or "\\" in name:
            raise NotPacked(f"{name!r} is not the name of a file below a folder")
        if path in folders:
            raise NotPacked(f"{name!r} is both a file and a folder")
        longest = max(len(part.encode()) for part in path.parts)  # ValueError for a lone surrogate
        if longest > _LONGEST_NAME or len(name.encode()) > _LONGEST_PATH or "\0" in name:
            raise NotPacked("the name of a file is too long")
    if len(set(paths)) != len(paths):
        raise NotPacked("two files have one name")
    return paths

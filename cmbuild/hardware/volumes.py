"""Mounted volumes by their label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_MOUNTS = Path("/proc/mounts")
_LABELS = Path("/dev/disk/by-label")
# Where desktops mount removable media: /media/LABEL, /media/USER/LABEL, /run/media/USER/LABEL.
_MEDIA = (Path("/media"), Path("/run/media"))


def volumes(
    label: str, mounts: Path = _MOUNTS, labels: Path = _LABELS, media: tuple[Path, ...] = _MEDIA
) -> list[Path]:
    """The folders where volumes with this label are mounted: mount points of devices with the
    label, and mount points named after it; desktops append a number to a second one: `RP23501`.
    """
    device = labels / label
    wanted = device.resolve() if device.exists() else None
    folders = []
    for source, folder in _mounted(mounts):
        is_removable = any(folder.is_relative_to(place) for place in media)
        if (wanted is not None and source.resolve() == wanted) or (
            is_removable and _is_named(folder, label)
        ):
            folders.append(folder)
    return sorted(set(folders))


def _mounted(mounts: Path) -> Iterator[tuple[Path, Path]]:
    """Device and folder of every mount (proc(5): blanks are octal escapes)."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        source, folder, *_ = (*line.split(" "), "", "")
        yield Path(_unescaped(source)), Path(_unescaped(folder))


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _is_named(folder: Path, label: str) -> bool:
    return re.fullmatch(re.escape(label) + r"[ _]?\d*", folder.name) is not None

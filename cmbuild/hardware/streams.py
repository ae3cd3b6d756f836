"""The streams of a run as files of a folder, for a board that accesses them by serial port."""

from __future__ import annotations

import re
from pathlib import Path

_READABLE = re.compile(r"request|watch|input[0-9a-f]{1,8}")
_WRITABLE = re.compile(r"trace|output[0-9a-f]{1,8}")


class Streams:
    """Only names from cmrt/runner.h are accepted: the other side may be any device."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, offset: int, size: int) -> bytes | None:
        """None unless all bytes are there."""
        if not _READABLE.fullmatch(name):
            return None
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(offset)
                data = file.read(size)
        except FileNotFoundError:
            return None
        return data if len(data) == size else None

    def append(self, name: str, data: bytes) -> bool:
        if not _WRITABLE.fullmatch(name):
            return False
        with (self._folder / name).open("ab") as file:
            file.write(data)
        return True

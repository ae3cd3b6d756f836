"""The host's side of semihosting: the calls of runtime/runner/semihosting.c."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

BREAKPOINT = b"\xab\xbe"
"""BKPT 0xAB, which the core stops at for a call."""

# "Semihosting for AArch32 and AArch64" (Arm).
_OPEN, _CLOSE, _WRITE0, _WRITE, _READ, _SEEK, _FLEN, _EXIT = 1, 2, 4, 5, 6, 10, 12, 0x20
_MODES = {1: "rb", 9: "ab"}
_FAILED = 0xFFFFFFFF
_ROUND = 64


class CoreMemory(Protocol):
    """The memory of a core."""

    def read(self, address: int, size: int) -> bytes: ...

    def write(self, address: int, data: bytes) -> None: ...


class Semihosting:
    """The files of a folder, for an image.

    Attributes:
        status: the image's exit status; None until it exits.
    """

    def __init__(self, memory: CoreMemory, folder: Path, show: Callable[[str], None]) -> None:
        """
        Args:
            show: takes what the image prints.
        """
        self.status: int | None = None
        self._memory = memory
        self._folder = folder
        self._show = show
        self._files: dict[int, IO[bytes]] = {}

    def call(self, operation: int, parameters: int) -> int:
        """Does what a call asks for.

        Args:
            operation: of R0.
            parameters: address of R1.

        Returns: the answer in R0.
        """
        if operation == _WRITE0:
            self._show(self._text(parameters))
            return 0
        first, second, third = struct.unpack("<3I", self._memory.read(parameters, 12))
        if operation == _EXIT:
            self.status = second & 0xFF
            return 0
        if operation == _OPEN:
            return self._open(self._memory.read(first, third).decode("utf-8", "replace"), second)
        return self._access(operation, first, second, third)

    def _access(self, operation: int, number: int, second: int, size: int) -> int:
        """A call about an open file.

        Args:
            second: an address or a position, by operation.
        """
        file = self._files.get(number)
        if file is None:
            return _FAILED
        if operation == _FLEN:
            return Path(file.name).stat().st_size
        if operation == _READ:
            data = file.read(size)
            self._memory.write(second, data)
            return size - len(data)
        if operation == _CLOSE:
            self._files.pop(number).close()
        elif operation == _SEEK:
            file.seek(second)
        elif operation == _WRITE:
            file.write(self._memory.read(second, size))
        return 0

    def _open(self, name: str, mode: int) -> int:
        """Numbers begin at 1; files outside the folder are not opened."""
        if mode not in _MODES or not name or Path(name).name != name:
            return _FAILED
        try:
            file: Any = (self._folder / name).open(_MODES[mode])  # the image closes it
        except OSError:
            return _FAILED
        number = max(self._files, default=0) + 1
        self._files[number] = file
        return number

    def _text(self, address: int) -> str:
        data = b""
        while b"\0" not in data:
            # Up to a round address, as memory ends at one.
            place = address + len(data)
            data += self._memory.read(place, _ROUND - place % _ROUND)
        return data.partition(b"\0")[0].decode(errors="replace")

"""A process's note of the mutant it is at, which outlives the process."""

from __future__ import annotations

import mmap
import struct

_HEAD = struct.Struct("<QQQ")
_SIZE = 16 << 20


class Witness:
    """Memory shared with processes forked later; notes longer programs without their data."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SIZE)

    @property
    def progress(self) -> int:
        """Changes with each note."""
        return self._head[0]

    @property
    def mutant(self) -> tuple[bytes, int]:
        """The last one noted, and its seed."""
        _, seed, size = self._head
        return self._memory[_HEAD.size : _HEAD.size + size], seed

    def note(self, data: bytes, seed: int) -> None:
        size = len(data) if len(data) <= _SIZE - _HEAD.size else 0
        self._memory[_HEAD.size : _HEAD.size + size] = data[:size]
        _HEAD.pack_into(self._memory, 0, self.progress + 1, seed, size)

    def tick(self) -> None:
        """Notes progress with the same mutant."""
        _, seed, size = self._head
        _HEAD.pack_into(self._memory, 0, self.progress + 1, seed, size)

    @property
    def _head(self) -> tuple[int, int, int]:
        return _HEAD.unpack_from(self._memory)

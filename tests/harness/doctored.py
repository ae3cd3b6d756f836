"""Corrupts images: 32-bit ELF files, changed in place."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

# ELF specification: offsets of fields in the file, segment and section headers.
_PHOFF, _SHOFF, _PHENTSIZE, _SHENTSIZE = 28, 32, 42, 46
_SEGMENT = {"offset": 4, "address": 8, "physical": 12, "loaded": 16, "size": 20}
_SECTION = {"address": 12, "offset": 16, "size": 20}


class Doctored:
    """An editable ELF file; `save` writes it."""

    def __init__(self, image: Path) -> None:
        self._data = bytearray(image.read_bytes())

    def save(self, path: Path) -> Path:
        path.write_bytes(self._data)
        return path

    def rename(self, symbol: str, other: str) -> Doctored:
        """Renames a symbol or section to a name of the same length."""
        old, new = (b"\0" + name.encode() + b"\0" for name in (symbol, other))
        assert old in self._data
        assert len(old) == len(new)
        self._data[:] = self._data.replace(old, new)
        return self

    def segment(self, at: int, **fields: int) -> Doctored:
        """Changes words of the header of the segment at an address."""
        start = self._find(_PHOFF, _PHENTSIZE, 44, _SEGMENT["address"], at)
        for name, value in fields.items():
            struct.pack_into("<I", self._data, start + _SEGMENT[name], value)
        return self

    def section(self, at: int, **fields: int) -> Doctored:
        """Changes words of the header of the section at an address."""
        start = self._find(_SHOFF, _SHENTSIZE, 48, _SECTION["address"], at)
        for name, value in fields.items():
            struct.pack_into("<I", self._data, start + _SECTION[name], value)
        return self

    def vector(self, index: int, value: int, vectors: int) -> Doctored:
        """Changes a word of the vector table, which lies at `vectors`."""
        header = self._find(_SHOFF, _SHENTSIZE, 48, _SECTION["address"], vectors)
        start = self._word(header + _SECTION["offset"])
        struct.pack_into("<I", self._data, start + 4 * index, value)
        return self

    def _word(self, position: int) -> int:
        word: int = struct.unpack_from("<I", self._data, position)[0]
        return word

    def _find(self, table: int, size: int, count: int, field: int, value: int) -> int:
        return next(h for h in self._headers(table, size, count) if self._word(h + field) == value)

    def _headers(self, table: int, size: int, count: int) -> Iterator[int]:
        start = self._word(table)
        step, number = (struct.unpack_from("<H", self._data, at)[0] for at in (size, count))
        return iter(range(start, start + step * number, step))

"""What a linker takes of static libraries for some functions, found without a linker.

Libraries are compiled with a section for each function and variable, and linked with
--gc-sections: an image has the sections that can be reached from where it starts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# System V ABI, "Object files": section types, section flags and where a section's number ends.
_SYMBOLS, _RELA, _NO_BITS, _REL = 2, 4, 8, 9
_WRITE, _ALLOC = 1, 2
_RESERVED = 0xFF00

_MAGIC = b"!<arch>\n"

_HOT = ".text.cm_isa_"  # .hot of runtime/cortexm/link.ld.j2


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes that reachable sections take, and what no library has.

    Attributes:
        code: instructions, tables, and the first values of variables.
        variables: RAM, those first values included.
        hot: of the code, microkernels, which a board may run from RAM.
        missing: names of functions and variables.
    """

    code: int
    variables: int
    hot: int
    missing: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    size: int
    align: int
    kind: int
    flags: int
    needs: tuple[int | str, ...]
    """Numbers of sections of the same object, and names of symbols of others."""


class Archive:
    """A static library of 32-bit little-endian objects.

    Raises:
        ValueError, struct.error: it is none.
    """

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        if not self._data.startswith(_MAGIC):
            raise ValueError(f"{path} is no archive")
        self._objects: dict[int, _Object] = {}

    def find(self, symbol: str) -> tuple[_Object, int] | None:
        """The object that defines a symbol, and the number of its section."""
        place = self._index.get(symbol)
        if place is None:
            return None
        if place not in self._objects:
            self._objects[place] = _Object(self._member(place))
        found = self._objects[place]
        return found, found.defined[symbol]

    @cached_property
    def _index(self) -> Mapping[str, int]:
        """The archive's own table of symbols, its first member."""
        table = self._member(len(_MAGIC))
        (count,) = struct.unpack_from(">I", table)
        places = struct.unpack_from(f">{count}I", table, 4)
        names = table[4 + 4 * count :].split(b"\0")
        index: dict[str, int] = {}
        for name, place in zip(names, places, strict=False):
            index.setdefault(name.decode(), place)
        return index

    def _member(self, place: int) -> bytes:
        size = int(self._data[place + 48 : place + 58])
        return self._data[place + 60 : place + 60 + size]


class _Object:
    """Sections and symbols of a relocatable ELF file."""

    def __init__(self, data: bytes) -> None:
        (table,) = struct.unpack_from("<I", data, 32)
        size, count, names = struct.unpack_from("<3H", data, 46)
        headers = [struct.unpack_from("<10I", data, table + i * size) for i in range(count)]
        symbols = list(_symbols(data, headers))
        self.defined = {name: section for name, section in symbols if name and section}
        needs: dict[int, list[int | str]] = {}
        for _, kind, _, _, start, bytes_, _, target, _, step in headers:
            if kind in (_REL, _RELA):
                for at in range(start, start + bytes_, step):
                    name, section = symbols[struct.unpack_from("<I", data, at + 4)[0] >> 8]
                    needs.setdefault(target, []).append(section or name)
        self.sections = [
            _Section(
                _text(data, headers[names][4] + h[0]),
                h[5],
                h[8],
                h[1],
                h[2],
                tuple(needs.get(number, ())),
            )
            for number, h in enumerate(headers)
        ]


def _symbols(data: bytes, headers: Sequence[tuple[int, ...]]) -> Iterator[tuple[str, int]]:
    """Name and section of each symbol, in order; section 0 for what others define."""
    for header in headers:
        if header[1] != _SYMBOLS:
            continue
        strings = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 16):
            name, _, _, _, _, section = struct.unpack_from("<3I2BH", data, at)
            yield _text(data, strings + name), section if section < _RESERVED else 0


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def taken(roots: Iterable[str], archives: Sequence[Archive]) -> Taken:
    """What is reached from the definitions of some names; the first archive that has one counts."""
    names, missing = list(roots), set()
    seen: set[str] = set()
    reached: set[tuple[int, int]] = set()
    code = variables = hot = 0
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        found = next(filter(None, (archive.find(name) for archive in archives)), None)
        if found is None:
            missing.add(name)
            continue
        item, first = found
        ahead = [first]
        while ahead:
            number = ahead.pop()
            if (id(item), number) in reached:
                continue
            reached.add((id(item), number))
            section = item.sections[number]
            for need in section.needs:
                (names if isinstance(need, str) else ahead).append(need)  # type: ignore[arg-type]
            if section.flags & _ALLOC:
                size = -(-section.size // max(section.align, 4)) * max(section.align, 4)
                variables += size if section.flags & _WRITE else 0
                code += 0 if section.kind == _NO_BITS else size
                hot += size if section.name.startswith(_HOT) else 0
    return Taken(code, variables, hot, frozenset(missing))

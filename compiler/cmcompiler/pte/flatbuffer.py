"""Bounds-checked tables, vectors and strings of a FlatBuffer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cmcompiler.errors import InvalidProgram

_INT8 = struct.Struct("<b")
_UINT8 = struct.Struct("<B")
_UINT16 = struct.Struct("<H")
_INT32 = struct.Struct("<i")
_UINT32 = struct.Struct("<I")
_INT64 = struct.Struct("<q")
_UINT64 = struct.Struct("<Q")
_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")

MOST_READS = 8
"""Maximum average reads per byte.

Vectors may share bytes, so a small forged file could otherwise describe a huge program.
"""


class FlatBuffer:
    """The bytes of a FlatBuffer; scalars are little-endian.

    All methods raise InvalidProgram for accesses out of bounds.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self._reads_left = MOST_READS * len(data)

    @property
    def root(self) -> TableReader:
        return self.table_at(0)

    def read(self, layout: struct.Struct, position: int) -> int:
        if not 0 <= position <= len(self.data) - layout.size:
            raise InvalidProgram(f"the program is truncated or corrupt: nothing at byte {position}")
        value: int = layout.unpack_from(self.data, position)[0]
        return value

    def follow(self, position: int) -> int:
        """The target of the offset at a position."""
        return position + self.read(_UINT32, position)

    def table_at(self, position: int) -> TableReader:
        """The table that the offset at a position points to."""
        start = self.follow(position)
        vtable = start - self.read(_INT32, start)
        vtable_size = self.read(_UINT16, vtable)
        self.slice(vtable, vtable_size)
        if vtable_size < 4 or vtable_size % 2:
            raise InvalidProgram(f"the program is corrupt: bad table at byte {start}")
        return TableReader(self, start, vtable, vtable_size)

    def vector_at(self, position: int, item_size: int) -> tuple[int, int]:
        """Position of the first item and number of items of the vector that an offset points to."""
        start = self.follow(position)
        count = self.read(_UINT32, start)
        self.slice(start + 4, count * item_size)
        self._reads_left -= count * item_size
        if self._reads_left < 0:
            raise InvalidProgram("the program is corrupt: its vectors overlap")
        return start + 4, count

    def slice(self, start: int, size: int) -> memoryview:
        if not 0 <= start <= start + size <= len(self.data):
            raise InvalidProgram(
                f"the program is truncated or corrupt: {size:,} bytes at byte {start} of "
                f"{len(self.data):,}"
            )
        return self.data[start : start + size]


@dataclass(frozen=True, slots=True)
class TableReader:
    """Fields by slot; an absent field has its default."""

    buffer: FlatBuffer
    start: int
    vtable: int
    vtable_size: int

    def int8(self, slot: int, default: int = 0) -> int:
        return self._scalar(slot, _INT8, default)

    def uint8(self, slot: int) -> int:
        return self._scalar(slot, _UINT8)

    def int32(self, slot: int, default: int = 0) -> int:
        return self._scalar(slot, _INT32, default)

    def uint32(self, slot: int) -> int:
        return self._scalar(slot, _UINT32)

    def int64(self, slot: int) -> int:
        return self._scalar(slot, _INT64)

    def uint64(self, slot: int) -> int:
        return self._scalar(slot, _UINT64)

    def boolean(self, slot: int) -> bool:
        return bool(self._scalar(slot, _UINT8))

    def float32(self, slot: int) -> float:
        return float(self._scalar(slot, _FLOAT))

    def double(self, slot: int) -> float:
        return float(self._scalar(slot, _DOUBLE))

    def table(self, slot: int) -> TableReader | None:
        field = self._field(slot)
        return None if field is None else self.buffer.table_at(field)

    def tables(self, slot: int) -> Iterator[TableReader]:
        """The items of a vector of tables; empty if absent."""
        start, count = self._vector(slot, 4)
        return (self.buffer.table_at(start + 4 * i) for i in range(count))

    def count(self, slot: int) -> int:
        """Items of a vector of tables."""
        return self._vector(slot, 4)[1]

    def int32s(self, slot: int) -> tuple[int, ...]:
        return struct.unpack(*self._items(slot, "i", 4))

    def int64s(self, slot: int) -> tuple[int, ...]:
        return struct.unpack(*self._items(slot, "q", 8))

    def uint64s(self, slot: int) -> tuple[int, ...]:
        return struct.unpack(*self._items(slot, "Q", 8))

    def float32s(self, slot: int) -> tuple[float, ...]:
        return struct.unpack(*self._items(slot, "f", 4))

    def doubles(self, slot: int) -> tuple[float, ...]:
        return struct.unpack(*self._items(slot, "d", 8))

    def bytes(self, slot: int) -> memoryview:
        start, count = self._vector(slot, 1)
        return self.buffer.slice(start, count)

    def string(self, slot: int) -> str:
        """Text; empty if absent."""
        try:
            return str(self.bytes(slot), "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidProgram("the program is corrupt: a string is not UTF-8") from error

    def _scalar(self, slot: int, layout: struct.Struct, default: int = 0) -> int:
        field = self._field(slot)
        return default if field is None else self.buffer.read(layout, field)

    def _vector(self, slot: int, item_size: int) -> tuple[int, int]:
        field = self._field(slot)
        return (0, 0) if field is None else self.buffer.vector_at(field, item_size)

    def _items(self, slot: int, code: str, item_size: int) -> tuple[str, memoryview]:
        start, count = self._vector(slot, item_size)
        return f"<{count}{code}", self.buffer.slice(start, count * item_size)

    def _field(self, slot: int) -> int | None:
        """Position of a field; None if absent."""
        entry = 4 + 2 * slot
        if entry >= self.vtable_size:
            return None
        # Do not check against the table size in the vtable: Python's builder shares vtables between
        # tables of different sizes.
        offset = self.buffer.read(_UINT16, self.vtable + entry)
        return self.start + offset if offset else None

"""The `.pte` container: identifier, extended header and segments."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte.flatbuffer import FlatBuffer, TableReader
from cmcompiler.pte.schema import (
    BUNDLED_IDENTIFIER,
    EXTENDED_HEADER_LENGTH,
    EXTENDED_HEADER_MAGIC,
    EXTENDED_HEADER_MINIMUM_LENGTH,
    FILE_IDENTIFIER,
    BufferTable,
    DataSegmentTable,
    ProgramTable,
    SubsegmentOffsetsTable,
)

LARGEST = (1 << 31) - 1
"""Maximum bytes of a file, buffer or tensor; the runtime's offsets have 31 bits."""

# After the root offset and the identifier: magic, length, program size, segment base and size.
_HEADER = struct.Struct("<4sIQQ")
_SEGMENT_DATA_SIZE = struct.Struct("<Q")
_HEADER_START = 8


@dataclass(frozen=True, slots=True)
class Container:
    """A `.pte` file.

    Attributes:
        program: the root table.
        segments: the bytes from the first segment on.
    """

    program: TableReader
    segments: memoryview


def open_container(data: bytes | memoryview) -> Container:
    """Locates the program and its segments.

    Raises:
        InvalidProgram: not a `.pte` file, or a truncated one.
        Unsupported: a bundled program, another schema, or more than 2 GiB.
    """
    view = memoryview(data).toreadonly()
    if len(view) > LARGEST:
        raise Unsupported(f"the program has {len(view):,} bytes, the limit is {LARGEST:,}")
    identifier = bytes(view[4:8])
    if identifier == BUNDLED_IDENTIFIER:
        raise Unsupported("bundled programs are not supported", "use the .pte before bundling")
    if identifier != FILE_IDENTIFIER:
        if identifier[:2] == FILE_IDENTIFIER[:2] and identifier[2:].isdigit():
            raise Unsupported(
                f"the program has schema {identifier.decode()}, not {FILE_IDENTIFIER.decode()}"
            )
        raise InvalidProgram("not an ExecuTorch program: it does not start like a .pte file")
    if bytes(view[_HEADER_START : _HEADER_START + 4]) != EXTENDED_HEADER_MAGIC:
        return Container(FlatBuffer(view).root, view[:0])
    program_size, base, segment_size = _extended_header(view)
    return Container(FlatBuffer(view[:program_size]).root, view[base : base + segment_size])


def _extended_header(view: memoryview) -> tuple[int, int, int]:
    """Program size, segment base and total segment size, from the header at byte 8."""
    if len(view) < _HEADER_START + EXTENDED_HEADER_LENGTH:
        raise InvalidProgram(f"the program is truncated after {len(view)} bytes, in its header")
    _, length, program_size, base = _HEADER.unpack_from(view, _HEADER_START)
    if length < EXTENDED_HEADER_MINIMUM_LENGTH:
        raise InvalidProgram(f"the program is corrupt: its extended header has {length} bytes")
    if program_size > len(view):
        raise InvalidProgram(
            f"the program is truncated: {len(view):,} bytes of {program_size:,} are there"
        )
    if base == 0:
        return program_size, len(view), 0
    size = len(view) - base
    if length >= EXTENDED_HEADER_LENGTH:
        position = _HEADER_START + EXTENDED_HEADER_MINIMUM_LENGTH
        size = _SEGMENT_DATA_SIZE.unpack_from(view, position)[0] or size
    if base < program_size or size < 0 or base + size > len(view):
        raise InvalidProgram(
            f"the program is truncated or corrupt: it has {len(view):,} bytes, its segments are at "
            f"{base:,} and have {size:,}"
        )
    return program_size, base, size


class Constants:
    """Tensor data: constants and the initial contents of mutable buffers."""

    def __init__(self, container: Container) -> None:
        program = container.program
        subsegments = program.table(ProgramTable.CONSTANT_SEGMENT)
        self._constants = () if subsegments is None else _pieces(container, subsegments)
        if not self._constants:
            tables = program.tables(ProgramTable.CONSTANT_BUFFER)
            self._constants = tuple(table.bytes(BufferTable.STORAGE) for table in tables)
        self._initial: tuple[memoryview, ...] = ()
        # ExecuTorch's runtime reads only the first segment.
        for subsegments in islice(program.tables(ProgramTable.MUTABLE_DATA_SEGMENTS), 1):
            self._initial = _pieces(container, subsegments)

    def read(self, index: int, nbytes: int) -> memoryview:
        """The first bytes of constant `index`.

        Raises:
            InvalidProgram: no such constant, or it is shorter.
        """
        return _first(self._constants, index, nbytes, "constant")

    def read_initial(self, index: int, nbytes: int) -> memoryview:
        """The first bytes of initial state `index`.

        Raises:
            InvalidProgram: no such state, or it is shorter.
        """
        return _first(self._initial, index, nbytes, "initial state")


def _first(pieces: Sequence[memoryview], index: int, nbytes: int, what: str) -> memoryview:
    if index >= len(pieces):
        raise InvalidProgram(f"the program is corrupt: {what} {index} does not exist")
    data = pieces[index]
    if len(data) < nbytes:
        raise InvalidProgram(
            f"the program is corrupt: {what} {index} has {len(data):,} bytes, "
            f"its tensor has {nbytes:,}"
        )
    return data[:nbytes]


def _pieces(container: Container, subsegments: TableReader) -> tuple[memoryview, ...]:
    """From each offset to the end of the segment; the file does not record sizes."""
    offsets = subsegments.uint64s(SubsegmentOffsetsTable.OFFSETS)
    if not offsets:
        return ()
    segment = _segment(container, subsegments.uint32(SubsegmentOffsetsTable.SEGMENT_INDEX))
    return tuple(segment[offset:] for offset in offsets)


def _segment(container: Container, index: int) -> memoryview:
    segments = list(container.program.tables(ProgramTable.SEGMENTS))
    if index >= len(segments):
        raise InvalidProgram(f"the program is corrupt: segment {index} does not exist")
    offset = segments[index].uint64(DataSegmentTable.OFFSET)
    size = segments[index].uint64(DataSegmentTable.SIZE)
    if offset + size > len(container.segments):
        raise InvalidProgram(
            f"the program is truncated: segment {index} ends at {offset + size:,} of "
            f"{len(container.segments):,} bytes"
        )
    return container.segments[offset : offset + size]

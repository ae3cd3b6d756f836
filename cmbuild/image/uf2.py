"""UF2 files: an image in blocks of 512 bytes, each of which says where it belongs.

The format: https://github.com/microsoft/uf2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cmbuild.errors import UsageError

PAGE = 256
"""Bytes of the image in each block: what boot loaders of flash expect."""

BLOCK = 512

_START = (0x0A324655, 0x9E5D5157)
_END = 0x0AB16F30
_HEADER = struct.Struct("<8I")
_ROOM = BLOCK - _HEADER.size - 4

FAMILY_PRESENT = 0x2000
TAGS_PRESENT = 0x8000
_NOT_FOR_FLASH = 0x0001 | 0x1000

# RP2350 datasheet, "UF2 targets", and erratum RP2350-E10: the boot ROM respects a partition table
# only after a block of the absolute family. This block is beyond the flash and has no effect; boot
# ROMs without the erratum ignore it because of its tag.
_ABSOLUTE_FAMILY = 0xE48BFF57
_IGNORE_TAG = struct.pack("<I", 0x9957E304)
_IGNORED_BYTE = b"\xef"


class BrokenUf2(UsageError):
    template = "{name}: block {number}: {problem}"


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        flags: FAMILY_PRESENT, TAGS_PRESENT.
        address: where the payload belongs.
        number, total: its place among the blocks of its family.
        family: which devices accept it.
        tags: bytes after the payload, with extensions.
    """

    flags: int
    address: int
    payload: bytes
    number: int
    total: int
    family: int
    tags: bytes = b""

    @property
    def is_ignored(self) -> bool:
        """Whether it exists only because of the erratum."""
        return self.family == _ABSOLUTE_FAMILY and self.tags.startswith(_IGNORE_TAG)

    def encode(self) -> bytes:
        place = (self.address, len(self.payload), self.number, self.total)
        header = _HEADER.pack(*_START, self.flags, *place, self.family)
        body = (self.payload + self.tags).ljust(_ROOM, b"\0")
        return header + body + struct.pack("<I", _END)


def pages(segments: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
    """Segments, which do not overlap, as whole pages by address; gaps in a page are 0xff, as in
    erased flash.
    """
    pages: dict[int, bytearray] = {}
    for address, data in segments:
        start = 0
        while start < len(data):
            place = (address + start) % PAGE
            piece = data[start : start + PAGE - place]
            page = pages.setdefault(address + start - place, bytearray(b"\xff" * PAGE))
            page[place : place + len(piece)] = piece
            start += len(piece)
    return {address: bytes(pages[address]) for address in sorted(pages)}


def encode(
    segments: Iterable[tuple[int, bytes]], family: int, ignored_block: int | None = None
) -> bytes:
    """The file for an image.

    Args:
        segments: addresses and bytes.
        ignored_block: address of a first block, needed for erratum RP2350-E10 only.
    """
    content = pages(segments)
    blocks = [
        Block(FAMILY_PRESENT, address, data, number, len(content), family)
        for number, (address, data) in enumerate(content.items())
    ]
    if ignored_block is not None:
        tagged = FAMILY_PRESENT | TAGS_PRESENT, ignored_block, _IGNORED_BYTE * PAGE
        blocks.insert(0, Block(*tagged, 0, 2, _ABSOLUTE_FAMILY, _IGNORE_TAG))
    return b"".join(block.encode() for block in blocks)


def decode(data: bytes, name: str) -> tuple[Block, ...]:
    """The blocks of a file.

    Args:
        name: of the file, for errors.

    Raises:
        BrokenUf2: a block is malformed or missing.
    """
    if not data or len(data) % BLOCK:
        problem = f"{len(data)} bytes are not a whole number of blocks"
        raise BrokenUf2(name=name, number=len(data) // BLOCK, problem=problem)
    blocks = tuple(_blocks(data, name))
    _check_numbers([block for block in blocks if not block.is_ignored], name)
    return blocks


def _blocks(data: bytes, name: str) -> Iterator[Block]:
    for index, start in enumerate(range(0, len(data), BLOCK)):
        raw = data[start : start + BLOCK]
        *magic, flags, address, size, number, total, family = _HEADER.unpack_from(raw)
        problem = None
        if tuple(magic) != _START or raw[-4:] != struct.pack("<I", _END):
            problem = "UF2's magic numbers not found"
        elif size != PAGE or address % PAGE:
            problem = f"{size} bytes at 0x{address:08x} are not a page of {PAGE}"
        elif flags & _NOT_FOR_FLASH or not flags & FAMILY_PRESENT:
            problem = f"flags 0x{flags:x} do not address the flash of a device family"
        if problem is not None:
            raise BrokenUf2(name=name, number=index, problem=problem)
        body = raw[_HEADER.size : -4]
        tags = body[size:].rstrip(b"\0") if flags & TAGS_PRESENT else b""
        yield Block(flags, address, body[:size], number, total, family, tags)


def _check_numbers(blocks: Sequence[Block], name: str) -> None:
    seen: set[int] = set()
    for index, block in enumerate(blocks):
        problem = None
        if (block.number, block.total) != (index, len(blocks)):
            problem = f"it is number {block.number} of {block.total}, not {index} of {len(blocks)}"
        elif block.address in seen:
            problem = f"duplicate of block at 0x{block.address:08x} before"
        if problem is not None:
            raise BrokenUf2(name=name, number=index, problem=problem)
        seen.add(block.address)

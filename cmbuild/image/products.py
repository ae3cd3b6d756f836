"""Files for flash programmers, made from an image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory
from cmbuild.errors import Failed
from cmbuild.image import intel_hex, uf2
from cmbuild.image.elf import entry, loaded

PRODUCTS = (".bin", ".hex", ".uf2")

ERASED = b"\xff"
"""Content of erased flash."""


class OutsideFlash(Failed):
    template = "{name} has {size:,} bytes for 0x{address:08x}, outside the flash of {board}"
    hint = "`cmbuild boards {board}` shows its memory"


class WrongFamily(Failed):
    template = "{name} is for devices of family 0x{found:08x}; {board} is of 0x{family:08x}"


def write_products(image: Path, board: Board) -> None:
    """Writes `.bin` and `.hex` beside an ELF file.

    Raises:
        OutsideFlash: the image has bytes outside the board's flash.
    """
    segments = sorted(loaded(image))
    check_addresses(image.name, [(address, len(data)) for address, data in segments], board)
    image.with_suffix(".bin").write_bytes(flat(segments))
    image.with_suffix(".hex").write_text(intel_hex.encode(segments, entry(image)))


def write_uf2(image: Path, family: int, ignored_block: int | None) -> None:
    """Writes `.uf2` beside an ELF file."""
    data = uf2.encode(sorted(loaded(image)), family, ignored_block)
    image.with_suffix(".uf2").write_bytes(data)


def check_uf2(file: Path, board: Board, family: int) -> int:
    """Checks that a UF2 file is complete and for this board's flash.

    Returns: how many bytes of flash it writes.

    Raises:
        BrokenUf2, WrongFamily, OutsideFlash.
    """
    blocks = [b for b in uf2.decode(file.read_bytes(), file.name) if not b.is_ignored]
    for block in blocks:
        if block.family != family:
            raise WrongFamily(name=file.name, found=block.family, board=board.name, family=family)
    # Pages are filled: the last one may end after the image, but never after flash.
    check_addresses(file.name, [(block.address, uf2.PAGE) for block in blocks], board)
    return uf2.PAGE * len(blocks)


def check_addresses(name: str, places: Sequence[tuple[int, int]], board: Board) -> None:
    """Checks that all places, each an address and a number of bytes, lie in the board's flash.

    Raises:
        OutsideFlash: naming the first that does not.
    """
    for address, size in places:
        region = board.region_at(address, size)
        if region is None or region.kind is not Memory.FLASH:
            raise OutsideFlash(name=name, size=size, address=address, board=board.name)


def flat(segments: Sequence[tuple[int, bytes]]) -> bytes:
    """All bytes from the first to the last; ERASED in gaps."""
    start = min(address for address, _ in segments)
    end = max(address + len(data) for address, data in segments)
    flat = bytearray(ERASED * (end - start))
    for address, data in segments:
        flat[address - start : address - start + len(data)] = data
    return bytes(flat)

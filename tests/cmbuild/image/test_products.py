"""Files for programmers: held against the formats' rules, and read back by readers of others."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intelhex import IntelHex
from uf2utils.file import UF2File

from cmbuild.boards.memory import Memory, Region
from cmbuild.catalog import find_board
from cmbuild.image import intel_hex, uf2
from cmbuild.image.products import OutsideFlash, WrongFamily, check_uf2

FAMILY = 0xE48BFF59
IGNORED = 0x10FFFF00
FLASH = 0x10000000

# Ascending pieces with gaps between them, as segments of an image are.
PIECES = st.lists(st.tuples(st.integers(0, 700), st.binary(min_size=1, max_size=700)), max_size=6)


def segments(pieces: list[tuple[int, bytes]], start: int = FLASH) -> list[tuple[int, bytes]]:
    placed = []
    for gap, data in pieces:
        placed.append((start + gap, data))
        start += gap + len(data)
    return placed


def bytes_of(placed: list[tuple[int, bytes]]) -> dict[int, int]:
    return {address + i: byte for address, data in placed for i, byte in enumerate(data)}


@given(PIECES.filter(bool))
def test_uf2_by_the_specification(pieces: list[tuple[int, bytes]]) -> None:
    """https://github.com/microsoft/uf2, "File format", field by field."""
    placed = segments(pieces)
    data = uf2.encode(placed, FAMILY, IGNORED)
    count = len(data) // 512 - 1
    assert len(data) % 512 == 0
    flashed: dict[int, int] = {}
    for index in range(count + 1):
        block = data[512 * index : 512 * (index + 1)]
        fields = struct.unpack_from("<8I", block)
        assert fields[:2] == (0x0A324655, 0x9E5D5157)
        assert struct.unpack_from("<I", block, 508) == (0x0AB16F30,)
        if index == 0:
            assert fields[2:] == (0xA000, IGNORED, 256, 0, 2, 0xE48BFF57)
            assert block[32:292] == b"\xef" * 256 + struct.pack("<I", 0x9957E304)
            assert not any(block[292:508])
            continue
        flags, address, size, number, total, family = fields[2:]
        assert (flags, size, number, total, family) == (0x2000, 256, index - 1, count, FAMILY)
        assert address % 256 == 0
        assert not any(block[32 + 256 : 508])
        flashed |= {address + i: byte for i, byte in enumerate(block[32 : 32 + 256])}
    wanted = bytes_of(placed)
    assert len(flashed) == 256 * count, "no page comes twice"
    assert {address: flashed[address] for address in wanted} == wanted
    assert {byte for address, byte in flashed.items() if address not in wanted} <= {0xFF}


@given(PIECES.filter(bool))
def test_uf2_comes_back(pieces: list[tuple[int, bytes]]) -> None:
    placed = segments(pieces)
    blocks = uf2.decode(uf2.encode(placed, FAMILY, IGNORED), "file")
    assert [block.is_ignored for block in blocks] == [True] + [False] * (len(blocks) - 1)
    assert {block.address: block.payload for block in blocks[1:]} == uf2.pages(placed)


def test_uf2_by_another_reader(tmp_path: Path) -> None:
    placed = [(FLASH, bytes(range(256)) * 3), (FLASH + 0x1234, b"weights")]
    file = tmp_path / "image.uf2"
    file.write_bytes(uf2.encode(placed, FAMILY))
    parsed = UF2File(str(file))
    assert {block.header.board_family for block in parsed} == {FAMILY}
    assert {b.header.address: bytes(b.payload) for b in parsed} == uf2.pages(placed)


@given(PIECES.filter(bool), st.integers(0, 0xFFFF0000))
def test_hex_by_another_reader(pieces: list[tuple[int, bytes]], start: int) -> None:
    placed = segments(pieces, start)
    parsed = IntelHex()
    for line in intel_hex.encode(placed, 0x10000155).splitlines():
        parsed._decode_record(line) if not line.startswith(":00000001") else None
    assert {address: parsed[address] for address in parsed.addresses()} == bytes_of(placed)
    assert parsed.start_addr == {"EIP": 0x10000155}


@pytest.fixture
def board():
    return find_board("rp2350")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "image.uf2"


def block(**changes: object) -> uf2.Block:
    first = uf2.Block(uf2.FAMILY_PRESENT, FLASH, bytes(256), 0, 1, FAMILY)
    return replace(first, **changes)


def test_a_good_file_is_measured(board, file):
    file.write_bytes(uf2.encode([(FLASH, bytes(1000))], FAMILY, IGNORED))
    assert check_uf2(file, board, FAMILY) == 1024


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "0 bytes are not a whole number of blocks"),
        ([block(number=1, total=2)], "block 0: it is number 1 of 2, not 0 of 1"),
        ([block(total=2)], "block 0: it is number 0 of 2, not 0 of 1"),
        ([block(payload=bytes(255))], "255 bytes at 0x10000000 are not a page of 256"),
        ([block(address=FLASH + 4)], "256 bytes at 0x10000004 are not a page of 256"),
        ([block(flags=0)], "flags 0x0 do not address the flash of a device family"),
        ([block(flags=0x2001)], "flags 0x2001 do not address the flash"),
        ([block(total=2), block(number=1, total=2)], "duplicate of block at 0x10000000 before"),
    ],
)
def test_a_broken_file_is_refused(board, file, blocks, message):
    file.write_bytes(b"".join(each.encode() for each in blocks))
    with pytest.raises(uf2.BrokenUf2, match=message):
        check_uf2(file, board, FAMILY)


@pytest.mark.parametrize("place", [0, 4, 508])
def test_a_file_with_other_magic_numbers_is_refused(board, file, place):
    data = bytearray(block().encode())
    data[place] ^= 1
    file.write_bytes(data)
    with pytest.raises(uf2.BrokenUf2, match="magic numbers"):
        check_uf2(file, board, FAMILY)


def test_half_a_block_is_refused(board, file):
    file.write_bytes(block().encode()[:-1])
    with pytest.raises(uf2.BrokenUf2, match="511 bytes"):
        check_uf2(file, board, FAMILY)


def test_another_family_is_refused(board, file):
    file.write_bytes(uf2.encode([(FLASH, b"x")], 0xE48BFF56))
    with pytest.raises(WrongFamily, match="of family 0xe48bff56; rp2350 is of 0xe48bff59"):
        check_uf2(file, board, FAMILY)


@pytest.mark.parametrize("address", [FLASH - 256, FLASH + (4 << 20), 0x20000000])
def test_addresses_outside_of_flash_are_refused(board, file, address):
    file.write_bytes(uf2.encode([(address, bytes(256))], FAMILY))
    with pytest.raises(OutsideFlash, match=f"256 bytes for 0x{address:08x}, outside the flash of"):
        check_uf2(file, board, FAMILY)


def test_an_image_over_flash_is_refused(board, file):
    small = Region("flash", Memory.FLASH, FLASH, 512)
    file.write_bytes(uf2.encode([(FLASH, bytes(513))], FAMILY))
    with pytest.raises(OutsideFlash, match="0x10000200"):
        check_uf2(file, replace(board, regions={"flash": small}), FAMILY)

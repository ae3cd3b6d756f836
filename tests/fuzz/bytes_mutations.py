"""Damages to the bytes of a program: blind ones, and ones to the FlatBuffer's own numbers."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

from cmcompiler.errors import CompilerError
from cmcompiler.pte import container
from cmcompiler.pte.flatbuffer import FlatBuffer
from cmcompiler.pte.reader import read_program

LIMITS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)

Read = tuple[str, int]
"""Format and place of a number that the reader has read."""


def numbers_read(data: bytes) -> list[Read]:
    """Every number that reading the program takes: fields, vtables, lengths, offsets."""
    collected: dict[Read, None] = {}

    class Recorder(FlatBuffer):
        def read(self, layout: struct.Struct, position: int) -> int:
            collected[layout.format, position] = None
            return super().read(layout, position)

    plain, container.FlatBuffer = container.FlatBuffer, Recorder  # type: ignore[misc]
    try:
        read_program(data)
    except CompilerError:
        pass
    finally:
        container.FlatBuffer = plain  # type: ignore[misc]
    return list(collected)


def flip_bits(data: bytearray, chance: random.Random, numbers: Sequence[Read] = ()) -> None:
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def truncate(data: bytearray, chance: random.Random, numbers: Sequence[Read] = ()) -> None:
    del data[chance.randrange(len(data)) :]


def splice_integers(data: bytearray, chance: random.Random, numbers: Sequence[Read] = ()) -> None:
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(max(1, len(data) - 3))
        value = chance.choice((*LIMITS, chance.randrange(len(data)), chance.getrandbits(32)))
        data[position : position + 4] = struct.pack("<I", value)


def copy_block(data: bytearray, chance: random.Random, numbers: Sequence[Read] = ()) -> None:
    source, target = chance.randrange(len(data)), chance.randrange(len(data))
    block = data[source : source + chance.randint(1, 32)]
    data[target : target + len(block)] = block


def change_number(data: bytearray, chance: random.Random, numbers: Sequence[Read] = ()) -> None:
    """Changes numbers that the reader looks at, a little or to a limit."""
    read = numbers or numbers_read(bytes(data)) or [("<I", 4)]
    for _ in range(chance.randint(1, 2)):
        layout, position = chance.choice(read)
        size = struct.calcsize(layout)
        if position + size > len(data):
            continue
        value = int.from_bytes(data[position : position + size], "little")
        change = chance.choice((-8, -4, -1, 1, 2, 4, 16))
        changed = chance.choice((value + change, value * 2, *LIMITS, chance.randrange(64)))
        data[position : position + size] = (changed % (1 << 8 * size)).to_bytes(size, "little")


DAMAGES: tuple[Callable[[bytearray, random.Random, Sequence[Read]], None], ...] = (
    flip_bits,
    truncate,
    splice_integers,
    copy_block,
    change_number,
    change_number,
    change_number,
)


def damaged(data: bytes, chance: random.Random, numbers: Sequence[Read] = ()) -> bytes:
    """
    Args:
        numbers: that reading the data takes, if known.
    """
    changed = bytearray(data)
    chance.choice(DAMAGES)(changed, chance, numbers)
    return bytes(changed)

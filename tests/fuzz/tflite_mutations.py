"""Changes to `.tflite` files: to their bytes, and to the numbers that the reader looks at."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from math import nan

from harness.tflite_calls import tflite_calls
from harness.tflite_truth import models

from cmcompiler.errors import CompilerError
from cmcompiler.pte.flatbuffer import FlatBuffer
from cmcompiler.tflite import reader
from fuzz.bytes_mutations import DAMAGES, LIMITS, Read

LARGEST_SEED = 1 << 16

FLOATS = (0.0, -1.0, 0.5, 1.0, 1e-30, 1e-8, 1e8, 1e30, float("inf"), nan, 2.0**-126, 1 / 256)

CHANGES = (1, 1, 1, 2, 3)


def tflite_seeds() -> list[bytes]:
    """A program of every operator, and the trained ones where they are."""
    listed = [call.data for call in tflite_calls(samples=0)]
    listed += [path.read_bytes() for path in models()]
    return [data for data in listed if len(data) < LARGEST_SEED]


STRUCTURE = ("<H", "<I")
"""Formats of most numbers that say where others are."""


@dataclass
class Numbers:
    """What reading a program takes.

    Attributes:
        meaning: fields and members of vectors.
        structure: lengths, offsets and vtables.
    """

    meaning: dict[Read, None] = field(default_factory=dict)
    structure: dict[Read, None] = field(default_factory=dict)

    def choose(self, chance: random.Random) -> Read:
        kind = self.meaning if chance.random() < 0.9 else self.structure
        return chance.choice([*kind] or [("<I", 4)])


def numbers_read(data: bytes) -> Numbers:
    """Every number that reading the program takes: also those in vectors."""
    numbers = Numbers()

    class Recorder(FlatBuffer):
        def read(self, layout: struct.Struct, position: int) -> int:
            kind = numbers.structure if layout.format in STRUCTURE else numbers.meaning
            kind[layout.format, position] = None
            return super().read(layout, position)

        def vector_at(self, position: int, item_size: int) -> tuple[int, int]:
            start, count = super().vector_at(position, item_size)
            if item_size > 1:
                for index in range(min(count, 64)):
                    place = start + item_size * index
                    numbers.meaning["<i" if item_size == 4 else "<q", place] = None
            return start, count

    plain, reader.FlatBuffer = reader.FlatBuffer, Recorder  # type: ignore[misc]
    try:
        reader.read_tflite(data)
    except CompilerError:
        pass
    finally:
        reader.FlatBuffer = plain  # type: ignore[misc]
    return numbers


def change_number(data: bytearray, chance: random.Random) -> None:
    """Changes numbers that the reader looks at: a little, to a limit, or to a float."""
    read = numbers_read(bytes(data))
    for _ in range(chance.choice((1, 1, 2))):
        layout, position = read.choose(chance)
        size = struct.calcsize(layout)
        if position + size > len(data):
            continue
        if size == 4 and chance.random() < 0.2:
            data[position : position + 4] = struct.pack("<f", chance.choice(FLOATS))
            continue
        value = int.from_bytes(data[position : position + size], "little")
        change = chance.choice((-8, -4, -2, -1, 1, 2, 4, 16))
        changed = chance.choice((value + change, value * 2, *LIMITS, chance.randrange(64)))
        data[position : position + size] = (changed % (1 << 8 * size)).to_bytes(size, "little")


WAYS: tuple[Callable[..., None], ...] = (
    *DAMAGES[:4],
    *[change_number] * 40,
)


def tflite_mutant(data: bytes, chance: random.Random) -> bytes:
    """The program, changed once or a few times."""
    changed = bytearray(data)
    for _ in range(chance.choice(CHANGES)):
        if changed:
            chance.choice(WAYS)(changed, chance)
    return bytes(changed)

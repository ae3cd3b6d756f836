"""Corrupt programs become a graph or a one-line error, never anything else."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable

import pytest
from harness.programs import NAMES, program_bytes

from cmcompiler.errors import CompilerError
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.pte.reader import read_program

MUTATIONS_EACH = 120
LONGEST_MESSAGE = 1000
MOST_MEMORY = 8 << 20
"""Bytes; the programs have less than 5,000."""

LIMITS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)


def flip_bits(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def splice_integers(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(len(data) - 3)
        value = chance.choice((*LIMITS, chance.randrange(len(data)), chance.getrandbits(32)))
        struct.pack_into("<I", data, position, value)


def forge_length(data: bytearray, chance: random.Random) -> None:
    """Changes an aligned number a little or a lot: most of them are offsets and counts."""
    position = 4 * chance.randrange(len(data) // 4)
    (value,) = struct.unpack_from("<I", data, position)
    change = chance.choice((-4, -1, 1, 2, 4, 16, 1 << 16, 1 << 30))
    struct.pack_into("<I", data, position, (value + change) % (1 << 32))


def copy_block(data: bytearray, chance: random.Random) -> None:
    source, target = chance.randrange(len(data)), chance.randrange(len(data))
    block = data[source : source + chance.randint(1, 32)]
    data[target : target + len(block)] = block


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bits,
    truncate,
    splice_integers,
    forge_length,
    copy_block,
)


def graphs(data: bytes) -> list[Graph]:
    program = read_program(data)
    return [
        build_graph(program, method.name, io)
        for method in program.methods
        for io in ("program", "int8")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_damaged_programs_become_a_graph_or_one_line(name: str) -> None:
    chance = random.Random(name)
    outcomes = set()
    for number in range(MUTATIONS_EACH):
        damaged = bytearray(program_bytes(name))
        DAMAGES[number % len(DAMAGES)](damaged, chance)
        try:
            outcomes.add(type(graphs(bytes(damaged))))
        except CompilerError as error:
            outcomes.add(type(error))
            assert error.message.isprintable(), f"mutation {number}"
            assert 0 < len(error.message) < LONGEST_MESSAGE, f"mutation {number}"
    assert len(outcomes) > 1


@pytest.mark.parametrize("name", ["network", "outputs", "unknown_operators"])
def test_damaged_programs_take_little_memory(name: str) -> None:
    chance = random.Random(name)
    graphs_or_error(program_bytes(name))
    tracemalloc.start()
    try:
        for number in range(MUTATIONS_EACH):
            damaged = bytearray(program_bytes(name))
            DAMAGES[number % len(DAMAGES)](damaged, chance)
            tracemalloc.reset_peak()
            graphs_or_error(bytes(damaged))
            assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY, f"mutation {number}"
    finally:
        tracemalloc.stop()


def graphs_or_error(data: bytes) -> list[Graph] | CompilerError:
    try:
        return graphs(data)
    except CompilerError as error:
        return error

"""How often blocks of instructions ran after one another: the file of the simulator's plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

Edges = Mapping[tuple[int, int], int]
"""Executions of a block right after another one, by their numbers; 0 is what ran before all."""


@dataclass(frozen=True, slots=True)
class TranslationBlock:
    """Instructions that the simulator translates as one.

    Attributes:
        count: of instructions.
    """

    address: int
    count: int


@dataclass(frozen=True, slots=True)
class FlashCounts:
    """A segment's reads of flash: runtime/tools/flash_reads.h.

    Attributes:
        lines: of code that execution entered.
        prefetched: of them, read ahead.
        code_misses: of them, neither read ahead nor in a cache.
        reads: of constants.
        data_misses: of them, not in a cache.
        conflicts: of them, while a prefetch went on.
        ram_misses: reads and writes of cached RAM, not in the cache for data.
    """

    lines: int
    prefetched: int
    code_misses: int
    reads: int
    data_misses: int
    conflicts: int
    ram_misses: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """The counts of a run.

    Attributes:
        segments: what ran between consecutive readings of the clock; the first one ends at the
            first reading.
        flash: what each of them read from flash; empty where that was not counted.
    """

    blocks: Mapping[int, TranslationBlock]
    segments: Sequence[Edges]
    flash: Sequence[FlashCounts] = ()


class BrokenProfile(ValueError):
    """Cut short, or not written by the plugin."""


def read_profile(file: Path) -> Profile:
    """The file that runtime/tools/block_profile.c writes.

    Raises:
        BrokenProfile: in one line.
    """
    blocks: dict[int, TranslationBlock] = {}
    segments: list[Edges] = []
    flash: list[FlashCounts] = []
    edges: dict[tuple[int, int], int] = {}
    is_whole = False
    try:
        for line in file.read_text().splitlines():
            match line.split():
                case ["block", number, address, count]:
                    blocks[int(number)] = TranslationBlock(int(address, 16), int(count))
                case ["segment"]:
                    edges = {}
                    segments.append(edges)
                case ["flash", *counts] if len(counts) == len(fields(FlashCounts)):
                    flash.append(FlashCounts(*map(int, counts)))
                case ["end"]:
                    is_whole = True
                case [before, after, count]:
                    edges[int(before), int(after)] = int(count)
                case _:
                    raise BrokenProfile(f"unexpected line {line[:40]!r}")
    except (OSError, ValueError) as error:
        raise BrokenProfile(f"{file.name}: {error}") from error
    if not is_whole:
        raise BrokenProfile(f"{file.name} is cut short")
    if flash and len(flash) != len(segments):
        raise BrokenProfile(f"{file.name} lacks reads of flash")
    return Profile(blocks, tuple(segments), tuple(flash))

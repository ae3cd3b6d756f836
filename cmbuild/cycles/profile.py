"""How often blocks of instructions ran after one another: the file of the simulator's plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
class Profile:
    """The counts of a run.

    Attributes:
        segments: what ran between consecutive readings of the clock; the first one ends at the
            first reading.
    """

    blocks: Mapping[int, TranslationBlock]
    segments: Sequence[Edges]


class BrokenProfile(ValueError):
    """Cut short, or not written by the plugin."""


def read_profile(file: Path) -> Profile:
    """The file that runtime/tools/block_profile.c writes.

    Raises:
        BrokenProfile: in one line.
    """
    blocks: dict[int, TranslationBlock] = {}
    segments: list[Edges] = []
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
    return Profile(blocks, tuple(segments))

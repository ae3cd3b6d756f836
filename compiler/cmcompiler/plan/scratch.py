"""Scratch of kernel calls, grown into the arena's free memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cmcompiler.ir.op import GrowableScratch, KernelCall, Scratch, ScratchCount, Word
from cmcompiler.plan.arena import ArenaBlock, ArenaLayout, aligned
from cmcompiler.plan.schedule import BranchStart, ScheduleEntry


@dataclass(frozen=True, slots=True)
class GrownScratch:
    """Steps whose scratch has a fixed size.

    Attributes:
        offsets: of all blocks in the arena.
    """

    entries: tuple[ScheduleEntry, ...]
    offsets: tuple[int, ...]


def least_scratch(entry: ScheduleEntry) -> list[int]:
    """The minimum bytes of each piece of scratch of a step."""
    if isinstance(entry.action, BranchStart):
        return []
    words = (word for _, word in entry.action.arguments)
    return [
        word.unit if isinstance(word, GrowableScratch) else word.size
        for word in words
        if isinstance(word, GrowableScratch | Scratch)
    ]


def grow_scratch(
    entries: Sequence[ScheduleEntry], blocks: Sequence[ArenaBlock], layout: ArenaLayout
) -> GrownScratch:
    """Gives every GrowableScratch the largest gap of its step.

    Args:
        blocks: those of the steps' `least_scratch` in order, after all others.
    """
    offsets = list(layout.offsets)
    index = len(blocks) - sum(len(least_scratch(entry)) for entry in entries)
    grown = list(entries)
    for step, entry in enumerate(entries):
        call = entry.action
        if not isinstance(call, KernelCall):
            continue
        for _, word in call.arguments:
            if isinstance(word, GrowableScratch):
                offsets[index], size = _largest_gap(blocks, offsets, index, step, layout.size)
                units = min(word.most, size // word.unit)
                grown[step] = replace(entry, action=_with_units(call, units))
            index += isinstance(word, GrowableScratch | Scratch)
    return GrownScratch(tuple(grown), tuple(offsets))


def _largest_gap(
    blocks: Sequence[ArenaBlock], offsets: Sequence[int], mine: int, step: int, end: int
) -> tuple[int, int]:
    """Start and size of the largest area that no block except `mine` uses during a step."""
    taken = sorted(
        (offset, offset + aligned(block.size_at(step)))
        for index, (block, offset) in enumerate(zip(blocks, offsets, strict=True))
        if index != mine and block.size_at(step)
    )
    best, start = (0, 0), 0
    for first, last in (*taken, (end, end)):
        best = max(best, (first - start, -start))
        start = max(start, last)
    size, negated = best
    return -negated, size


def _with_units(call: KernelCall, units: int) -> KernelCall:
    """A call whose GrowableScratch has this many units."""

    def settled(word: Word) -> Word:
        if isinstance(word, GrowableScratch):
            return Scratch(units * word.unit)
        return units * word.each if isinstance(word, ScratchCount) else word

    return replace(call, arguments=[(name, settled(word)) for name, word in call.arguments])

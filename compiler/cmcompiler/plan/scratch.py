"""Scratch of kernel calls, grown into the arena's free memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cmcompiler.ir.op import (
    GrowableScratch,
    KernelCall,
    RowCall,
    Scratch,
    ScratchCount,
    Word,
)
from cmcompiler.plan.arena import ArenaBlock, ArenaLayout, aligned
from cmcompiler.plan.schedule import ScheduleEntry


@dataclass(frozen=True, slots=True)
class GrownScratch:
    """How far the scratch of steps has grown.

    Attributes:
        offsets: of all blocks in the arena.
        units: of each step's GrowableScratch; 0 for steps without any.
    """

    offsets: tuple[int, ...]
    units: tuple[int, ...]


def least_scratch(entry: ScheduleEntry, room: int = 0) -> list[Scratch]:
    """Each piece of scratch of a step, as small as it can be.

    Args:
        room: bytes more that those pieces may take which can grow.
    """
    return call_scratch(entry.action, room) if isinstance(entry.action, KernelCall) else []


def call_scratch(call: KernelCall, room: int = 0) -> list[Scratch]:
    """The scratch of a call."""
    return [
        word.sized(min(word.most, 1 + room // word.unit))
        if isinstance(word, GrowableScratch)
        else word
        for word in call.scratch
    ]


def kept_scratch(call: KernelCall) -> int:
    """Bytes of the scratch of a call from turn to turn."""
    return sum(aligned(piece.size) for piece in call_scratch(call) if piece.kept)


def passing_scratch(call: RowCall) -> int:
    """Bytes of scratch during a turn."""
    own, *parts = (
        sum(aligned(piece.size) for piece in call_scratch(each) if not piece.kept)
        for each in (call.call, *(tiled.call for tiled in call.tiled))
    )
    return own + max(parts, default=0)


def grow_scratch(
    entries: Sequence[ScheduleEntry], blocks: Sequence[ArenaBlock], layout: ArenaLayout
) -> GrownScratch:
    """Gives every GrowableScratch the largest gap of its step.

    Args:
        blocks: those of the steps' `least_scratch` in order, after all others.
    """
    offsets = list(layout.offsets)
    actions = [entry.action for entry in entries]
    calls = [(step, call) for step, call in enumerate(actions) if isinstance(call, KernelCall)]
    index = len(blocks) - sum(len(call.scratch) for _, call in calls)
    counts = [0] * len(entries)
    alive = _alive(blocks, len(entries))
    for step, call in calls:
        for word in call.scratch:
            if isinstance(word, GrowableScratch):
                offsets[index], size = _largest_gap(
                    (_used(offsets[i], blocks[i], step) for i in alive[step] if i != index),
                    layout.size,
                )
                counts[step] = word.units_within(size)
            index += 1
    return GrownScratch(tuple(offsets), tuple(counts))


def _alive(blocks: Sequence[ArenaBlock], steps: int) -> list[Sequence[int]]:
    """Per step, the blocks that may be in use."""
    starts: list[list[int]] = [[] for _ in range(steps)]
    for index, block in enumerate(blocks):
        if max(block.first, 0) < steps:
            starts[max(block.first, 0)].append(index)
    activities: list[Sequence[int]] = []
    active: list[int] = []
    for step, started in enumerate(starts):
        active = [index for index in (*active, *started) if blocks[index].last >= step]
        activities.append(active)
    return activities


def _used(offset: int, block: ArenaBlock, step: int) -> tuple[int, int]:
    start, end = block.used_at(step)
    return offset + start, offset + end


def _largest_gap(uses: Iterable[tuple[int, int]], end: int) -> tuple[int, int]:
    """Start and size of the largest area outside of those in use."""
    taken = sorted((first, last) for first, last in uses if last > first)
    best, start = (0, 0), 0
    for first, last in (*taken, (end, end)):
        best = max(best, (first - start, -start))
        start = max(start, last)
    size, negated = best
    return -negated, size


def with_units(call: KernelCall, units: int) -> KernelCall:
    """A call whose GrowableScratch, if it has any, has this many units."""

    def settled(word: Word) -> Word:
        if isinstance(word, GrowableScratch):
            return word.sized(units)
        return units * word.each if isinstance(word, ScratchCount) else word

    return replace(call, arguments=[(name, settled(word)) for name, word in call.arguments])

"""Places memory blocks with limited lifetimes in one arena."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cmcompiler.ir.op import ALIGN

REPAIRS = 64
"""Orders to try if the fixed ones miss the lower bound."""


@dataclass(frozen=True, slots=True)
class BlockUse:
    """Bytes in use from the start of a block during steps [first, last]."""

    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class ArenaBlock:
    """Memory at one offset. Where pieces overlap in time, the later takes over the earlier."""

    pieces: tuple[BlockUse, ...]

    @property
    def size(self) -> int:
        return max(piece.size for piece in self.pieces)

    @property
    def first(self) -> int:
        return min(piece.first for piece in self.pieces)

    @property
    def last(self) -> int:
        return max(piece.last for piece in self.pieces)

    def size_at(self, step: int) -> int:
        """Bytes in use during a step."""
        return max((p.size for p in self.pieces if p.first <= step <= p.last), default=0)


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """Offsets of blocks, in the order given, and the arena's bytes."""

    offsets: tuple[int, ...]
    size: int


def aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def lower_bound(blocks: Sequence[ArenaBlock]) -> int:
    """The most bytes in use at once; no layout is smaller."""
    starts = {piece.first for block in blocks for piece in block.pieces}
    return max((sum(aligned(b.size_at(step)) for b in blocks) for step in starts), default=0)


def place(blocks: Sequence[ArenaBlock]) -> ArenaLayout:
    """A small layout without overlaps; it reaches `lower_bound` for all networks tested.

    Greedy placement by size, as in Pisarchyk and Lee, "Efficient memory management for deep neural
    net inference" (2020), in several orders, keeping the smallest result. While it is above the
    lower bound, the block that ends last is moved to the front and all are placed again.
    """
    problem = _Problem(blocks)
    bound = lower_bound(blocks)
    best: ArenaLayout | None = None
    best_order: Sequence[int] = ()
    for order in _orders(blocks):
        for choose in (_lowest, _tightest):
            layout = problem.greedy(order, choose)
            if best is None or layout.size < best.size:
                best, best_order = layout, order
            if best.size == bound:
                return best
    assert best is not None
    order, layout = best_order, best
    for _ in range(REPAIRS):
        top = max(order, key=lambda index: layout.offsets[index] + blocks[index].size)
        order = [top, *(index for index in order if index != top)]
        layout = problem.greedy(order, _lowest)
        if layout.size < best.size:
            best = layout
        if best.size == bound:
            break
    return best


Gap = tuple[int, float]
"""The lowest offset for a block, and how far it can move up."""


def _lowest(gaps: Iterator[Gap]) -> int:
    return next(gaps)[0]


def _tightest(gaps: Iterator[Gap]) -> int:
    return min(gaps, key=lambda gap: gap[1])[0]


class _Problem:
    """Blocks, and which of their sizes overlap in time."""

    def __init__(self, blocks: Sequence[ArenaBlock]) -> None:
        self.blocks = blocks
        self.meetings: list[list[tuple[int, int, int]]] = [[] for _ in blocks]
        """Per block: (other block, bytes of this one, bytes of the other) in use at once."""
        active: list[int] = []
        for index in sorted(range(len(blocks)), key=lambda i: blocks[i].first):
            active = [other for other in active if blocks[other].last >= blocks[index].first]
            for other in active:
                self._meet(index, other)
            active.append(index)

    def _meet(self, left: int, right: int) -> None:
        for a in self.blocks[left].pieces:
            for b in self.blocks[right].pieces:
                if a.size and b.size and a.first <= b.last and b.first <= a.last:
                    size_a, size_b = aligned(a.size), aligned(b.size)
                    self.meetings[left].append((right, size_a, size_b))
                    self.meetings[right].append((left, size_b, size_a))

    def greedy(self, order: Sequence[int], choose: Callable[[Iterator[Gap]], int]) -> ArenaLayout:
        offsets: dict[int, int] = {}
        for index in order:
            taken = sorted(
                (offsets[other] - size, offsets[other] + other_size)
                for other, size, other_size in self.meetings[index]
                if other in offsets
            )
            offsets[index] = choose(_gaps(taken))
        size = max((offsets[i] + aligned(b.size) for i, b in enumerate(self.blocks)), default=0)
        return ArenaLayout(tuple(offsets[i] for i in range(len(self.blocks))), size)


def _gaps(taken: Sequence[tuple[int, int]]) -> Iterator[Gap]:
    """The gaps between open intervals (low, high), which are sorted."""
    start = 0
    for low, high in taken:
        if low >= start:
            yield start, low - start
        start = max(start, high)
    yield start, math.inf


def _orders(blocks: Sequence[ArenaBlock]) -> Iterator[Sequence[int]]:
    """By size, by size times duration, by size within the fullest step, and by time."""
    everyone = range(len(blocks))
    yield sorted(everyone, key=lambda i: -blocks[i].size)
    yield sorted(everyone, key=lambda i: -blocks[i].size * (blocks[i].last - blocks[i].first + 1))
    starts = sorted({block.first for block in blocks})
    fullest = sorted(starts, key=lambda step: -sum(block.size_at(step) for block in blocks))
    rank = {step: index for index, step in enumerate(fullest)}
    yield sorted(
        everyone,
        key=lambda i: (
            min(rank[step] for step in starts if blocks[i].first <= step <= blocks[i].last),
            -blocks[i].size,
        ),
    )
    yield sorted(everyone, key=lambda i: (blocks[i].first, -blocks[i].size))

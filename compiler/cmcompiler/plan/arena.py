"""Places memory blocks with limited lifetimes in one arena."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add

from cmcompiler.ir.op import ALIGN

REPAIRS = 64
"""Orders to try if the fixed ones miss the lower bound."""


@dataclass(frozen=True, slots=True)
class BlockUse:
    """Bytes in use from `start` in a block during steps [first, last]."""

    first: int
    last: int
    size: int
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + aligned(self.size) if self.size else self.start


@dataclass(frozen=True)
class ArenaBlock:
    """Memory at one offset. Where pieces overlap in time, the later takes over the earlier."""

    pieces: tuple[BlockUse, ...]

    @cached_property
    def size(self) -> int:
        return max(piece.end for piece in self.pieces)

    @cached_property
    def first(self) -> int:
        return min(piece.first for piece in self.pieces)

    @cached_property
    def last(self) -> int:
        return max(piece.last for piece in self.pieces)

    def used_at(self, step: int) -> tuple[int, int]:
        """From where to where bytes are in use during a step."""
        used = [p for p in self.pieces if p.size and p.first <= step <= p.last]
        return min((p.start for p in used), default=0), max((p.end for p in used), default=0)

    @cached_property
    def spans(self) -> tuple[BlockUse, ...]:
        """The pieces as spans that do not overlap, each with the largest size in use there."""
        return self.pieces if len(self.pieces) == 1 else tuple(self._cut_spans())

    def _cut_spans(self) -> Iterator[BlockUse]:
        cuts = sorted({p.first for p in self.pieces} | {p.last + 1 for p in self.pieces})
        for first, end in pairwise(cuts):
            start, stop = self.used_at(first)
            if stop > start:
                yield BlockUse(first, end - 1, stop - start, start)


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """Offsets of blocks, in the order given, and the arena's bytes."""

    offsets: tuple[int, ...]
    size: int


def aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def in_use(blocks: Iterable[ArenaBlock], size: Callable[[int], int] = aligned) -> dict[int, int]:
    """Bytes in use during each step at which the use of a block begins or has just ended, in order.

    Args:
        size: that the bytes of a block count as.
    """
    changes: Counter[int] = Counter()
    for block in blocks:
        for span in block.spans:
            changes[span.first] += size(span.size)
            changes[span.last + 1] -= size(span.size)
    steps = sorted(changes)
    return dict(zip(steps, accumulate(changes[step] for step in steps), strict=True))


class Steps:
    """A number for every step, from those at which it changes, in order."""

    def __init__(self, changes: Mapping[int, int]) -> None:
        self._steps, self._numbers = list(changes), list(changes.values())

    def at(self, step: int) -> int:
        index = bisect_right(self._steps, step)
        return self._numbers[index - 1] if index else 0


def lower_bound(blocks: Sequence[ArenaBlock]) -> int:
    """The most bytes in use at once; no layout is smaller."""
    return max(in_use(blocks).values(), default=0)


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
    for order in _orders(blocks, problem.sizes):
        for choose in (_lowest, _tightest):
            layout = problem.greedy(order, choose)
            if best is None or layout.size < best.size:
                best, best_order = layout, order
            if best.size == bound:
                return best
    assert best is not None
    order, layout = best_order, best
    tried: set[tuple[int, ...]] = set()
    for _ in range(REPAIRS):
        ends = [*map(add, layout.offsets, problem.sizes)]
        top = max(order, key=ends.__getitem__)
        order = (top, *(index for index in order if index != top))
        # An order that comes again leads to the same ones again.
        if order in tried:
            break
        tried.add(order)
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
        self.sizes = [block.size for block in blocks]
        self.ends = [*map(aligned, self.sizes)]
        self.meetings: list[list[tuple[int, int, int]]] = [[] for _ in blocks]
        """Per block: (other block, from, to): where that may not begin, from this one's start."""
        firsts, lasts = [block.first for block in blocks], [block.last for block in blocks]
        active: list[int] = []
        for index in sorted(range(len(blocks)), key=firsts.__getitem__):
            active = [other for other in active if lasts[other] >= firsts[index]]
            for other in active:
                self._meet(index, other)
            active.append(index)

    def _meet(self, left: int, right: int) -> None:
        for a in self.blocks[left].pieces:
            for b in self.blocks[right].pieces:
                if a.size and b.size and a.first <= b.last and b.first <= a.last:
                    self.meetings[left].append((right, a.start - b.end, a.end - b.start))
                    self.meetings[right].append((left, b.start - a.end, b.end - a.start))

    def greedy(self, order: Sequence[int], choose: Callable[[Iterator[Gap]], int]) -> ArenaLayout:
        offsets = [0] * len(self.blocks)
        taken: list[list[tuple[int, int]] | None] = [[] for _ in self.blocks]
        for index in order:
            mine = taken[index]
            assert mine is not None
            taken[index] = None
            mine.sort()
            offset = offsets[index] = choose(_gaps(mine))
            for other, low, high in self.meetings[index]:
                theirs = taken[other]
                if theirs is not None:
                    theirs.append((offset + low, offset + high))
        size = max(map(add, offsets, self.ends), default=0)
        return ArenaLayout(tuple(offsets), size)


def _gaps(taken: Sequence[tuple[int, int]]) -> Iterator[Gap]:
    """The gaps between open intervals (low, high), which are sorted."""
    start = 0
    for low, high in taken:
        if low >= start:
            yield start, low - start
        start = max(start, high)
    yield start, math.inf


def _orders(blocks: Sequence[ArenaBlock], sizes: Sequence[int]) -> Iterator[Sequence[int]]:
    """By size, by size times duration, by size within the fullest step, and by time."""
    everyone = range(len(blocks))
    yield sorted(everyone, key=lambda i: -sizes[i])
    yield sorted(everyone, key=lambda i: -sizes[i] * (blocks[i].last - blocks[i].first + 1))
    starts = sorted({block.first for block in blocks})
    used = Steps(in_use(blocks, int))
    fullest = sorted(starts, key=lambda step: -used.at(step))
    rank = {step: index for index, step in enumerate(fullest)}
    least = _RangeMinimum([rank[step] for step in starts])

    def fullness(block: ArenaBlock) -> int:
        return least.of(bisect_left(starts, block.first), bisect_right(starts, block.last))

    yield sorted(everyone, key=lambda i: (fullness(blocks[i]), -sizes[i]))
    yield sorted(everyone, key=lambda i: (blocks[i].first, -sizes[i]))


class _RangeMinimum:
    """The least of any stretch of numbers, by a sparse table."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rows = [list(numbers)]
        width = 1
        while 2 * width <= len(numbers):
            row = self._rows[-1]
            self._rows.append([min(pair) for pair in zip(row, row[width:], strict=False)])
            width *= 2

    def of(self, start: int, stop: int) -> int:
        level = (stop - start).bit_length() - 1
        row = self._rows[level]
        return min(row[start], row[stop - (1 << level)])

"""Contents of planned memory while the instructions of a method are read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from cmcompiler.ir.operand import Operand
from cmcompiler.pte.program import Allocation


@dataclass(frozen=True, slots=True)
class LastWrite:
    """The last write to the bytes [start, end) of a buffer."""

    start: int
    end: int
    operand: Operand


class PlannedBuffers:
    """The buffers of a method: disjoint places and their current contents.

    A write removes everything it overlaps. Views share the place of what they view and have no
    instruction of their own: reading a place finds what a view refers to.
    """

    def __init__(self) -> None:
        self._buffers: dict[int, list[LastWrite]] = {}

    def copy(self) -> PlannedBuffers:
        """An independent copy, to follow another branch."""
        memory = PlannedBuffers()
        memory._buffers = {number: list(buffer) for number, buffer in self._buffers.items()}
        return memory

    def common(self, other: PlannedBuffers) -> list[tuple[Allocation, Operand, Operand]]:
        """Places with contents in both memories, and the contents of each."""
        return [
            (Allocation(number, held.start), held.operand, match.operand)
            for number, buffer in self._buffers.items()
            for held, match in _matches(buffer, other._buffers.get(number, []))
        ]

    def write(self, place: Allocation, operand: Operand) -> tuple[Operand, ...]:
        """Puts a tensor of at least one byte at a place; returns what it overwrote."""
        buffer = self._buffers.setdefault(place.memory, [])
        end = place.offset + operand.tensor.nbytes
        first = self._after(buffer, place.offset)
        last = first
        while last < len(buffer) and buffer[last].start < end:
            last += 1
        overwritten = tuple(held.operand for held in buffer[first:last])
        buffer[first:last] = [LastWrite(place.offset, end, operand)]
        return overwritten

    def read(self, place: Allocation, nbytes: int) -> Operand | None:
        """The contents of exactly these bytes, or None."""
        buffer = self._buffers.get(place.memory, [])
        index = self._after(buffer, place.offset)
        if index == len(buffer):
            return None
        held = buffer[index]
        exact = held.start == place.offset and held.end == place.offset + nbytes
        return held.operand if exact else None

    @staticmethod
    def _after(buffer: list[LastWrite], offset: int) -> int:
        """Index of the first place that ends after `offset`."""
        return bisect_left(buffer, offset + 1, key=lambda held: held.end)


def _matches(
    buffer: list[LastWrite], other: list[LastWrite]
) -> Iterator[tuple[LastWrite, LastWrite]]:
    """Pairs of writes to the same bytes."""
    places = {(held.start, held.end): held for held in other}
    for held in buffer:
        match = places.get((held.start, held.end))
        if match is not None:
            yield held, match

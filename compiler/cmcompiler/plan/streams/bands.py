"""How many rows each stage of a group makes at once, chosen stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cmcompiler.ir.op import OUTSIDE, RowCall
from cmcompiler.plan.streams.costs.surcharge import Surcharge, surcharge
from cmcompiler.plan.streams.group import StreamStage
from cmcompiler.plan.streams.grouping import Computation, Grouping
from cmcompiler.plan.streams.stream import Stream

COLUMN = 16
"""Rows of a single pixel that take as long as one of them."""

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48)
"""Sizes of bands: rows, or columns of COLUMN of them."""

WIDER = 3
"""Larger bands of a stage that are compared at once."""


def unit(call: RowCall) -> int:
    """Rows that take about as long as one."""
    return COLUMN if all(tensor.shape[2] == 1 for tensor in call.reads) else 1


class Bands:
    """Searches the bands of a group: those of one row first, then, as long as there is memory,
    larger ones of the stage where each byte saves the most instructions.
    """

    def __init__(self, computation: Computation, grouping: Grouping) -> None:
        self._nodes, self._isa = computation.graph.nodes, computation.isa
        self._grouping = grouping
        self._costs: dict[tuple[Stream, int], float] = {}
        self._grown: dict[tuple[int, int, int], Stream | None] = {}
        self._surcharges: dict[tuple[int, tuple[int, int]], Surcharge] = {}

    def cost(self, stream: Stream, limit: int) -> float:
        """Instructions, roughly, that a group takes more than whole tensors; infinite if it needs
        more memory.

        Args:
            limit: bytes; what the group leaves of them is scratch.
        """
        key = stream, limit
        if stream.bytes > limit:
            return inf
        if key not in self._costs:
            room = limit - stream.bytes
            self._costs[key] = sum(
                self._surcharge(stage, stream.rings_of(stage)).at(room)
                for stage in stream.group.stages
            )
        return self._costs[key]

    def _surcharge(self, stage: StreamStage, rings: tuple[int, int]) -> Surcharge:
        # The grouping makes the call of a stage once for each band, and keeps it.
        key = id(stage.call), rings
        if key not in self._surcharges:
            node = self._nodes[stage.node]
            self._surcharges[key] = surcharge(node, stage.call, self._isa, rings)
        return self._surcharges[key]

    def refined(self, stream: Stream, limit: int) -> Stream:
        """This group in the bands with the fewest instructions that are found, if any fit.

        Args:
            limit: bytes that it may need.
        """
        nodes = stream.group.nodes
        key = nodes.start, nodes.stop, limit
        if key not in self._grown:
            self._grown[key] = self._grow(*key)
        grown = self._grown[key]
        if grown is None or self.cost(grown, limit) >= self.cost(stream, limit):
            return stream
        return grown

    def _grow(self, start: int, end: int, limit: int) -> Stream | None:
        """The group of some nodes from bands of one row on; None if these do not fit."""
        calls = self._grouping.calls(start, end)
        bands = tuple(call.band if call.tiled else 1 for call in calls)
        best = self._grouping.make(start, end, bands)
        if best is None or best.bytes > limit:
            return None
        while larger := self._larger(best, calls, limit):
            best = larger
        return best

    def _larger(self, stream: Stream, calls: list[RowCall], limit: int) -> Stream | None:
        """With larger bands of one stage; None if no such saves instructions and leaves rings
        rings.
        """
        best, most, full = None, 0.0, stream.full_rings
        nodes, bands = stream.group.nodes, stream.bands
        for index, call in enumerate(calls):
            for band in _larger_bands(call, bands[index]):
                changed = (*bands[:index], band, *bands[index + 1 :])
                larger = self._grouping.make(nodes.start, nodes.stop, changed)
                if larger is None or larger.bytes > limit or larger.full_rings - full:
                    continue
                saved = self.cost(stream, limit) - self.cost(larger, limit)
                value = saved / max(larger.bytes - stream.bytes, 1)
                if value > most:
                    best, most = larger, value
        return best


def _larger_bands(call: RowCall, band: int) -> Iterator[int]:
    """Bands that take fewer turns; rows from outside come one by one, and those of runs are set."""
    if call.call.kernel in OUTSIDE or call.tiled:
        return
    first, last = call.call.rows
    turns, count = -(-(last - first) // band), 0
    for size in SIZES:
        larger = size * unit(call)
        fewer = -(-(last - first) // larger)
        if larger > band and fewer < turns and count < WIDER:
            yield larger
            turns, count = fewer, count + 1

"""Which nodes of a graph to run in groups, for the least arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, chain
from math import isinf

from cmcompiler.errors import Unsupported
from cmcompiler.ir.op import ALIGN, OUTSIDE, RowCall
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.streams.bands import Bands, unit
from cmcompiler.plan.streams.costs.surcharge import Surcharge, surcharge
from cmcompiler.plan.streams.grouping import NEVER, Computation, Grouping
from cmcompiler.plan.streams.stream import Stream

EXCESS = 1e6
"""Instructions for a byte beyond a limit."""

STEPS = 1024
"""The limit of an arena is found to one part in so many."""

LEAST = 0
"""Each stage of a group makes one row at once, even if its kernel suits more."""

BandSet = tuple[int, ...]

BANDS: BandSet = (LEAST, 1, 2, 4)
"""Rows that the stages of a group make at once at least, to compare groups."""

MORE_BANDS: BandSet = (LEAST, 1, 2, 3, 4, 5, 6, 8, 12)
"""Bands for images of few rows."""

MOST_ROWS = 512
"""Rows of all images up to which more than a few bands are tried: to plan more would take long."""


class Search:
    """The cuts of the order of nodes into groups and single nodes.

    What a group needs does not depend on the other cuts, so the best ones are found by dynamic
    programming, with about the same number of rows for all stages of a group; then each stage
    gets a number of its own, unless images are large.
    """

    def __init__(self, computation: Computation) -> None:
        self._graph, self._isa = computation.graph, computation.isa
        self._grouping = Grouping(computation)
        self._row_calls = computation.row_calls
        self.is_small = self._rows <= MOST_ROWS
        self._bands = MORE_BANDS if self.is_small else BANDS
        self._each = Bands(computation, self._grouping)
        self._known: dict[tuple[int, int, int], Stream | None] = {}
        self._best: dict[tuple[int, BandSet], tuple[float, tuple[Stream, ...]]] = {}
        self._cuts: dict[tuple[range, ...], tuple[Stream, ...]] = {}

    @property
    def is_idle(self) -> bool:
        """No node can be computed row by row."""
        return not any(self._row_calls)

    @property
    def anew(self) -> Search:
        """A search that has found no cuts, but knows the same groups."""
        search = copy(self)
        search._best, search._cuts = {}, {}
        search.__dict__.pop("fewest", None)
        return search

    @property
    def _rows(self) -> int:
        """Number of rows that all row calls make."""
        every = (call.call.rows for own in self._row_calls for call in own)
        return sum(end - start for start, end in every)

    @cached_property
    def fewest(self) -> float:
        """Instructions of feeds, which only streams can take."""
        return self.cheapest(self._highest)

    @property
    def _highest(self) -> int:
        """Bytes of arena that are enough.

        Raises:
            Unsupported: an operator needs all of an input that is fed.
        """
        if self.least_peak >= NEVER:
            names = ", ".join(self._grouping.ports)
            raise Unsupported(f"--feed rows is not possible: an operator needs {names} whole")
        return max([self.least_peak, *(size for size in self._grouping.whole if size < NEVER)])

    def least(self, most: float) -> int:
        """The least bytes of arena with which the groups are cheap enough, roughly.

        Args:
            most: instructions that they may add.
        """
        low, high = self.least_peak, self._highest
        step = max(low // STEPS, ALIGN)
        limit = low
        while limit < high:
            if self.cheapest(limit) <= most:
                high = limit
                break
            low, limit, step = limit, limit + step, 2 * step
        while high - low > max(high // STEPS, ALIGN):
            limit = (low + high) // 2
            if self.cheapest(limit) <= most:
                high = limit
            else:
                low = limit
        return aligned(high)

    def ways(self, limit: int, most: float) -> Iterator[tuple[Stream, ...]]:
        """Groups that need no more than `limit` bytes: those with the fewest instructions, and
        those that have them for other limits, in bands that suit this one.

        Nodes that need more by themselves are left alone if there is no other way; there are none
        where that would leave rows from outside to none.

        Args:
            most: instructions that the latter may take.
        """
        cost, streams = self._best_cut(limit, self._bands)
        if isinf(cost):
            return
        yield streams
        if not self.is_small:
            return
        yield self._refined(streams, limit)
        yield self._best_cut(limit, BANDS)[1]
        for cut in list(self._cuts.values()):
            refined = self._refined(cut, limit)
            if self._cost(refined, limit) <= most:
                yield refined

    def banded(self, stream: Stream, limit: int) -> list[Stream]:
        """This group in all bands that need no more than `limit` bytes."""
        nodes = stream.group.nodes
        if stream.takeover is None:
            return [stream]
        made = (self._stream(nodes.start, nodes.stop, band) for band in self._bands)
        return [stream, *(larger for larger in made if larger and larger.bytes <= limit)]

    def turned(self, stream: Stream, limit: int) -> Stream | None:
        """This group upwards, if it is one whose output takes the place of an input.

        Args:
            limit: bytes that it may need.
        """
        if stream.takeover is None:
            return None
        nodes = stream.group.nodes
        upward = self._grouping.make(nodes.start, nodes.stop, stream.bands, upward=True)
        fits = upward is not None and upward.bytes <= limit and upward.takeover is not None
        return upward if fits else None

    @property
    def whole(self) -> Sequence[int]:
        """Bytes in use during each node that computes whole tensors."""
        return self._grouping.whole

    def frame(self, start: int, end: int) -> tuple[int, int]:
        """Bytes that a group needs beside its rings: see Grouping."""
        return self._grouping.frame(start, end)

    def group_bytes(self, start: int, end: int) -> int:
        """Bytes that a group needs at least."""
        stream = self._stream(start, end, LEAST)
        return NEVER if stream is None else stream.bytes

    @cached_property
    def least_peak(self) -> int:
        """The smallest maximum of bytes in use."""
        count, whole = len(self._graph.nodes), self._grouping.whole
        peak = [0] * (count + 1)
        for end in range(1, count + 1):
            peak[end] = max(peak[end - 1], whole[end - 1])
            starts = self._grouping.starts(end, peak[end])
            for bound, start in sorted((self._grouping.bound(s, end), s) for s in starts):
                if bound >= peak[end]:
                    break
                if peak[start] < peak[end] and (stream := self._stream(start, end, LEAST)):
                    peak[end] = min(peak[end], max(peak[start], stream.bytes))
        return peak[count]

    def fits(self, limit: int) -> bool:
        """Whether `least_peak` is at most so many bytes, in less time."""
        if "least_peak" in self.__dict__:
            return self.least_peak <= limit
        count, whole = len(self._graph.nodes), self._grouping.whole
        reached = [True] + [False] * count
        for end in range(1, count + 1):
            reached[end] = reached[end - 1] and whole[end - 1] <= limit
            if reached[end]:
                continue
            starts = (start for start in self._grouping.starts(end, limit) if reached[start])
            bounds = sorted((self._grouping.bound(start, end), start) for start in starts)
            for start in (start for bound, start in bounds if bound <= limit):
                stream = self._stream(start, end, LEAST)
                if stream is not None and stream.bytes <= limit:
                    reached[end] = True
                    break
        return reached[count]

    def cheapest(self, limit: int) -> float:
        """The fewest instructions of groups that need no more than `limit` bytes."""
        cost, streams = self._best_cut(limit, self._bands)
        if not self.is_small or isinf(cost):
            return cost
        single = cost - self._cost(streams, limit)
        return single + self._cost(self._refined(streams, limit), limit)

    def _refined(self, streams: Sequence[Stream], limit: int) -> tuple[Stream, ...]:
        return tuple(self._each.refined(stream, limit) for stream in streams)

    def _cost(self, streams: Sequence[Stream], limit: int) -> float:
        return sum(self._each.cost(stream, limit) for stream in streams)

    def _best_cut(self, limit: int, bands: BandSet) -> tuple[float, tuple[Stream, ...]]:
        """The groups with the fewest instructions, which are infinite where none fit, if all
        stages of a group make about as many rows.
        """
        key = limit, bands
        if key not in self._best:
            cost, streams = self._best[key] = self._find_cut(limit, bands)
            if not isinf(cost):
                self._cuts.setdefault(tuple(each.group.nodes for each in streams), streams)
        return self._best[key]

    def _find_cut(self, limit: int, bands: BandSet) -> tuple[float, tuple[Stream, ...]]:
        count, whole = len(self._graph.nodes), self._grouping.whole
        excess = EXCESS if limit < self.least_peak else None
        costs: list[float] = [0.0] + [float("inf")] * count
        cuts: list[tuple[int, Stream | None]] = [(0, None)] * (count + 1)
        for end in range(1, count + 1):
            if whole[end - 1] <= limit:
                costs[end], cuts[end] = costs[end - 1], (end - 1, None)
            elif excess is not None and whole[end - 1] < NEVER:
                over = (whole[end - 1] - limit) * excess
                costs[end], cuts[end] = costs[end - 1] + over, (end - 1, None)
            for bound, start, band in self._candidates(end, limit, costs, bands):
                if bound >= costs[end]:
                    break
                grouped = self._stream(start, end, band)
                if grouped is None or grouped.bytes > limit:
                    continue
                cost = costs[start] + self._surcharge(start, end, band, limit - grouped.bytes)
                if cost < costs[end]:
                    costs[end], cuts[end] = cost, (start, grouped)
        streams, at = [], count
        while at:
            at, stream = cuts[at]
            streams += [] if stream is None else [stream]
        return costs[count], tuple(streams[::-1])

    def _candidates(
        self, end: int, limit: int, costs: Sequence[float], bands: BandSet
    ) -> list[tuple[float, int, int]]:
        """Starts and bands of a group that ends before node `end`, by the least cost so far."""
        parts = []
        for start in self._grouping.starts(end, limit):
            room = limit - self._grouping.bound(start, end)
            if room >= 0:
                parts += [
                    (costs[start] + self._surcharge(start, end, band, room), start, band)
                    for band in bands
                ]
        return sorted(parts)

    def _surcharge(self, start: int, end: int, band: int, room: int) -> float:
        fixed, growing, before = self._surcharges[band]
        growth = sum([cost.at(room) for cost in growing[before[start] : before[end]]])
        return fixed[end] - fixed[start] + growth

    @cached_property
    def _surcharges(self) -> dict[int, tuple[list[float], list[Surcharge], list[int]]]:
        """Per band: up to each node, those that depend on no memory; the others; and how many of
        these are up to each node.
        """
        tables = {}
        for band in self._bands:
            each = [
                [surcharge(node, call.banded(_rows_at_once(call, band)), self._isa) for call in own]
                for node, own in zip(self._graph.nodes, self._row_calls, strict=True)
            ]
            fixed = [sum(cost.fixed for cost in own if not cost.growth) for own in each]
            growing = [[cost for cost in own if cost.growth] for own in each]
            tables[band] = (
                list(accumulate(fixed, initial=0.0)),
                [*chain.from_iterable(growing)],
                list(accumulate(map(len, growing), initial=0)),
            )
        return tables

    def _stream(self, start: int, end: int, band: int) -> Stream | None:
        """The group of the nodes, whose stages make at least so many rows at once; None if there
        is none, or a ring would have to hold all rows for that.
        """
        if (start, end, band) not in self._known:
            self._known[start, end, band] = self._make(start, end, band)
        return self._known[start, end, band]

    def _make(self, start: int, end: int, band: int) -> Stream | None:
        bands = tuple(_rows_at_once(call, band) for call in self._grouping.calls(start, end))
        stream = self._grouping.make(start, end, bands)
        if stream is None or band == LEAST or not stream.full_rings:
            return stream
        least = self._stream(start, end, LEAST)
        return None if least is None or stream.full_rings - least.full_rings else stream


def _rows_at_once(call: RowCall, band: int) -> int:
    """With more rows at once; those from outside come one by one, and runs have bands of their
    own.
    """
    if call.call.kernel in OUTSIDE or call.tiled:
        return call.band
    return 1 if band == LEAST else max(call.band, band * unit(call))

"""Which nodes of a graph to run in groups, for the least arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import isinf

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import ALIGN, OUTSIDE, KernelCall, RowCall
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed
from cmcompiler.plan.arena import Steps, aligned, in_use
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.scratch import call_scratch
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.costs.surcharge import Surcharge, surcharge
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES, is_encodable
from cmcompiler.plan.streams.group import make_group
from cmcompiler.plan.streams.stream import Stream, Takeover
from cmcompiler.plan.streams.turns import measure

NEVER = 1 << 40
"""Bytes of what memory must never hold."""

EXCESS = 1e6
"""Instructions for a byte beyond a limit."""

STEPS = 1024
"""The limit of an arena is found to one part in so many."""

LEAST = 0
"""Each stage of a group makes one row at once, even if its kernel suits more."""

COLUMN = 16
"""Rows of a single pixel that take as long as one of them."""

BANDS = ((LEAST, 1, 2, 4), (LEAST, 1, 2, 3, 4, 6, 8, 12))
"""Rows that the stages of a group make at once at least; more of them if a few cost too much."""


@dataclass(frozen=True)
class Computation:
    """A graph, and the ways to compute its nodes.

    Attributes:
        calls: those that compute each node as a whole.
        row_calls: those that compute it row by row, if that is possible.
    """

    graph: Graph
    storage: Mapping[Tensor, Storage]
    calls: Sequence[Sequence[KernelCall]]
    row_calls: Sequence[Sequence[RowCall]]
    isa: Isa


class Search:
    """The cuts of the order of nodes into groups and single nodes.

    A tensor is whole unless one group has all that write and read it, so the memory that a group
    needs does not depend on the other cuts: the best ones are found by dynamic programming.
    """

    def __init__(self, computation: Computation, bands: Sequence[int]) -> None:
        """
        Args:
            bands: how many rows the stages of a group may make at once, at least.
        """
        self._graph = computation.graph
        self._storage = computation.storage
        self._calls = computation.calls
        self._row_calls = {
            band: [[_at_least(call, band) for call in own] for own in computation.row_calls]
            for band in bands
        }
        self._isa = computation.isa
        self._fed = {
            index: node.outputs[0]
            for index, node in enumerate(self._graph.nodes)
            if isinstance(node.op, Feed)
        }
        self._drained = {
            index: node.inputs[0]
            for index, node in enumerate(self._graph.nodes)
            if isinstance(node.op, Drain)
        }
        self._spans = [range(index, index + 1) for index in range(len(self._graph.nodes))]
        self._bounds: dict[tuple[int, int], int] = {}
        self._known: dict[tuple[int, int, int], tuple[Stream, int] | None] = {}

    @cached_property
    def _memory(self) -> Liveness:
        return analyse(self._graph, dict(self._storage), self._spans)

    @cached_property
    def _whole(self) -> list[int]:
        """Bytes in use during each node that computes whole tensors."""
        used = Steps(in_use(self._memory.blocks))
        return [
            NEVER
            if index in self._fed or index in self._drained
            else used.at(index) + max((_scratch(call) for call in calls), default=0)
            for index, calls in enumerate(self._calls)
        ]

    @cached_property
    def _passing(self) -> list[int]:
        """Bytes that hold something from before each node to it or later."""
        passing = [0] * (len(self._graph.nodes) + 1)
        for tensor, life in self._memory.lifetimes.items():
            for index in range(life.first + 1, min(life.last, len(self._graph.nodes) - 1) + 1):
                passing[index] += aligned(tensor.nbytes)
        return passing

    @cached_property
    def rows(self) -> int:
        """Those that all row calls make."""
        every = (call.call.rows for own in self._row_calls[LEAST] for call in own)
        return sum(end - start for start, end in every)

    @cached_property
    def fewest(self) -> float:
        """Instructions of feeds, which only streams can take."""
        return self._cheapest(self._highest)[0]

    @property
    def _highest(self) -> int:
        """Bytes of arena that are enough.

        Raises:
            Unsupported: an operator needs all of an input that is fed.
        """
        if self.least_peak >= NEVER:
            raise self._unfed()
        return max([self.least_peak, *(size for size in self._whole if size < NEVER)])

    def least(self, most: float) -> int:
        """The least bytes of arena with which the groups are cheap enough, roughly.

        Args:
            most: instructions that they may add.
        """
        low, high = self.least_peak, self._highest
        step = max(low // STEPS, ALIGN)
        limit = low
        while limit < high:
            if self._cheapest(limit)[0] <= most:
                high = limit
                break
            low, limit, step = limit, limit + step, 2 * step
        while high - low > max(high // STEPS, ALIGN):
            limit = (low + high) // 2
            if self._cheapest(limit)[0] <= most:
                high = limit
            else:
                low = limit
        return aligned(high)

    def cheapest(self, limit: int) -> tuple[Stream, ...] | None:
        """The groups with the fewest instructions that need no more than `limit` bytes.

        Nodes that need more by themselves are left alone if there is no other way; None where that
        would leave rows from outside to none.
        """
        cost, streams = self._cheapest(limit, EXCESS if limit < self.least_peak else None)
        return None if isinf(cost) else tuple(streams)

    def banded(self, stream: Stream, limit: int) -> list[Stream]:
        """The same group in all bands that need no more than `limit` bytes."""
        nodes = stream.group.nodes
        if stream.takeover is None:
            return [stream]
        made = (self._stream(nodes.start, nodes.stop, band) for band in self._row_calls)
        return [found[0] for found in made if found and found[1] <= limit]

    def turned(self, stream: Stream, limit: int) -> Stream | None:
        """The same group upwards, if it is one whose output takes the place of an input.

        Args:
            limit: bytes that it may need.
        """
        if stream.takeover is None:
            return None
        nodes, calls = stream.group.nodes, self._row_calls[stream.band]
        if not (self._fed.keys() | self._drained.keys()).isdisjoint(nodes):
            return None
        found = self._make(nodes.start, nodes.stop, calls, stream.band, upward=True)
        fits = found is not None and found[1] <= limit and found[0].takeover is not None
        return found[0] if found and fits else None

    def _unfed(self) -> Unsupported:
        ports = (*self._fed, *self._drained)
        names = ", ".join(self._graph.nodes[index].source for index in ports)
        return Unsupported(f"--feed rows is not possible: an operator needs {names} whole")

    @cached_property
    def least_peak(self) -> int:
        """The smallest maximum of bytes in use."""
        count = len(self._graph.nodes)
        peak = [0] * (count + 1)
        for end in range(1, count + 1):
            peak[end] = max(peak[end - 1], self._whole[end - 1])
            starts = self._starts(end, peak[end])
            for bound, start in sorted((self._bound(s, end), s) for s in starts):
                if bound >= peak[end]:
                    break
                if peak[start] < peak[end] and (found := self._stream(start, end, LEAST)):
                    peak[end] = min(peak[end], max(peak[start], found[1]))
        return peak[count]

    def _cheapest(self, limit: int, excess: float | None = None) -> tuple[float, list[Stream]]:
        """The groups with the fewest instructions that need no more than `limit` bytes.

        Args:
            excess: instructions that each byte more counts as, if single nodes may take some.
        """
        count = len(self._graph.nodes)
        costs: list[float] = [0.0] + [float("inf")] * count
        cuts: list[tuple[int, Stream | None]] = [(0, None)] * (count + 1)
        for end in range(1, count + 1):
            if self._whole[end - 1] <= limit:
                costs[end], cuts[end] = costs[end - 1], (end - 1, None)
            elif excess is not None and self._whole[end - 1] < NEVER:
                over = (self._whole[end - 1] - limit) * excess
                costs[end], cuts[end] = costs[end - 1] + over, (end - 1, None)
            for bound, start, band in self._candidates(end, limit, costs):
                if bound >= costs[end]:
                    break
                found = self._stream(start, end, band)
                if found is None or found[1] > limit:
                    continue
                cost = costs[start] + self._surcharge(start, end, band, limit - found[1])
                if cost < costs[end]:
                    costs[end], cuts[end] = cost, (start, found[0])
        streams, at = [], count
        while at:
            at, stream = cuts[at]
            streams += [] if stream is None else [stream]
        return costs[count], streams[::-1]

    def _starts(self, end: int, limit: int) -> Iterator[int]:
        """Where a group may begin that ends before node `end`, unless its rings need more.

        Args:
            limit: bytes.
        """
        start, rings = end, 0
        while start and self._row_calls[LEAST][start - 1]:
            start -= 1
            tensor = self._graph.nodes[start].outputs[0]
            if tensor in self._lonely and self._memory.lifetimes[tensor].last < end:
                rings += self._least_rings.get(tensor, 0)
            if rings > limit:
                return
            yield start

    def _candidates(
        self, end: int, limit: int, costs: Sequence[float]
    ) -> list[tuple[float, int, int]]:
        """Starts and bands of a group that ends before node `end`, by the least cost so far."""
        found = []
        for start in self._starts(end, limit):
            room = limit - self._bound(start, end)
            if room >= 0:
                found += [
                    (costs[start] + self._surcharge(start, end, band, room), start, band)
                    for band in self._row_calls
                ]
        return sorted(found)

    def _surcharge(self, start: int, end: int, band: int, room: int) -> float:
        fixed, growing = self._surcharges[band]
        return (
            fixed[end]
            - fixed[start]
            + sum(cost.at(room) for index, cost in growing if start <= index < end)
        )

    @cached_property
    def _surcharges(self) -> dict[int, tuple[list[float], list[tuple[int, Surcharge]]]]:
        """Per band: up to each node, those that depend on no memory; and the others."""
        found = {}
        for band, calls in self._row_calls.items():
            each = [
                [surcharge(node, call, self._isa) for call in own]
                for node, own in zip(self._graph.nodes, calls, strict=True)
            ]
            fixed = [sum(cost.fixed for cost in own if not cost.growth) for own in each]
            growing = [(i, cost) for i, own in enumerate(each) for cost in own if cost.growth]
            found[band] = (list(accumulate(fixed, initial=0.0)), growing)
        return found

    def _inner(self, start: int, end: int) -> tuple[set[Tensor], list[Tensor]]:
        """What the nodes write that only they read, and what else they write."""
        lifetimes = self._memory.lifetimes
        written = [
            node.outputs[0]
            for index, node in enumerate(self._graph.nodes[start:end], start)
            if index not in self._drained
        ]
        inner = {
            tensor for tensor in written if tensor in self._lonely and lifetimes[tensor].last < end
        }
        return inner, [tensor for tensor in written if tensor not in inner]

    @cached_property
    def _lonely(self) -> set[Tensor]:
        """Tensors that share their memory with no other one."""
        owners: dict[Tensor, int] = {}
        for place in self._storage.values():
            owners[place.owner] = owners.get(place.owner, 0) + 1
        return {t for t in self._memory.lifetimes if owners.get(t) == 1}

    def _bound(self, start: int, end: int) -> int:
        """Fewer bytes than a group needs."""
        if (start, end) not in self._bounds:
            self._bounds[start, end] = self._find_bound(start, end)
        return self._bounds[start, end]

    def _find_bound(self, start: int, end: int) -> int:
        inner, whole = self._inner(start, end)
        size = self._passing[start] + sum(aligned(tensor.nbytes) for tensor in whole)
        size += sum(self._least_rings.get(tensor, 0) for tensor in inner)
        pair = self._pair(start, end, whole)
        return size - (min(aligned(t.nbytes) for t in pair) if pair else 0)

    @cached_property
    def _least_rings(self) -> dict[Tensor, int]:
        """Bytes that the ring of a tensor takes at least; at an edge windows lack rows."""
        found: dict[Tensor, int] = {}
        for own in self._row_calls[LEAST]:
            for call in own:
                for tensor, reach in call.reads.items():
                    rows = (reach.high - reach.low) // reach.divisor
                    rows = min(max(rows, 1), tensor.shape[1])
                    found[tensor] = max(found.get(tensor, 0), rows * row_bytes(tensor))
        return found

    def _pair(self, start: int, end: int, whole: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
        """The largest input that nothing reads later, and the largest output to take its place."""
        lifetimes, nodes = self._memory.lifetimes, self._graph.nodes[start:end]
        kept = {state.tensor for state in self._graph.states}
        spent = [
            tensor
            for node, calls in zip(nodes, self._row_calls[LEAST][start:end], strict=True)
            for tensor in node.inputs
            if tensor in self._lonely
            and tensor not in kept
            and lifetimes[tensor].first < start <= lifetimes[tensor].last < end
        ]
        spent = [t for t in spent if self._only_rows(t, start, end)]
        results = [t for t in whole if t in lifetimes and t not in self._accumulated]
        if not spent or not results:
            return None
        return max(spent, key=_size), max(results, key=_size)

    @cached_property
    def _accumulated(self) -> set[Tensor]:
        """Results that are there at the end of a group, not row by row."""
        nodes = zip(self._graph.nodes, self._row_calls[LEAST], strict=True)
        return {node.outputs[0] for node, own in nodes if any(call.accumulates for call in own)}

    def _only_rows(self, tensor: Tensor, start: int, end: int) -> bool:
        """Whether it is read row by row wherever it is read."""
        return all(
            any(tensor in call.reads for call in calls)
            for node, calls in zip(
                self._graph.nodes[start:end], self._row_calls[LEAST][start:end], strict=True
            )
            if tensor in node.inputs
        )

    def _stream(self, start: int, end: int, band: int) -> tuple[Stream, int] | None:
        """The group of the nodes, and the bytes in use while it runs."""
        if (start, end, band) not in self._known:
            self._known[start, end, band] = self._make(start, end, self._row_calls[band], band)
        return self._known[start, end, band]

    def _make(
        self,
        start: int,
        end: int,
        calls: Sequence[Sequence[RowCall]],
        band: int,
        upward: bool = False,
    ) -> tuple[Stream, int] | None:
        inner, whole = self._inner(start, end)
        outside = self._fed | self._drained
        ports = [outside[index] for index in range(start, end) if index in outside]
        if any(tensor not in inner for tensor in ports) or (ports and upward):
            return None
        group = make_group(self._graph.nodes, range(start, end), calls, inner, upward)
        if group is None or not is_encodable(group):
            return None
        pair = self._pair(start, end, whole)
        rows = measure(group, *pair) if pair else measure(group)
        takeover, saved = None, 0
        if pair and rows.shift is not None:
            takeover = Takeover.of(*pair, rows.shift, upward)
            saved = takeover.saved
            if saved <= 0:
                takeover, saved = None, 0
        stream = Stream(group, rows.rings, takeover, rows.turns, band)
        size = self._passing[start] + sum(aligned(tensor.nbytes) for tensor in whole) - saved
        size += sum(map(aligned, stream.ring_bytes.values()))
        size += aligned(PROGRESS_BYTES * len(group.stages))
        pieces = [call_scratch(stage.call.call) for stage in group.stages]
        size += sum(aligned(piece.size) for own in pieces for piece in own if piece.kept)
        size += max(sum(aligned(piece.size) for piece in own if not piece.kept) for own in pieces)
        return stream, size


def _at_least(call: RowCall, band: int) -> RowCall:
    """With more rows at once; those from outside come one by one."""
    if call.call.kernel in OUTSIDE:
        return call
    if all(tensor.shape[2] == 1 for tensor in call.reads):
        band *= COLUMN
    return replace(call, band=1 if band == LEAST else max(call.band, band))


def _size(tensor: Tensor) -> int:
    return tensor.nbytes


def _scratch(call: KernelCall) -> int:
    """Bytes, at least."""
    return sum(aligned(piece.size) for piece in call_scratch(call))

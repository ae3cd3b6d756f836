"""Which nodes of a graph to run in groups, for the least arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import ALIGN, GrowableScratch, KernelCall, RowCall, Scratch
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.arena import Steps, aligned, in_use
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.cost import Surcharge, effort, surcharge
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES, is_encodable
from cmcompiler.plan.streams.group import make_group
from cmcompiler.plan.streams.stream import Stream, Takeover
from cmcompiler.plan.streams.turns import measure

STEPS = 256
"""The limit of an arena is found to one part in so many."""

BANDS = (1, 2, 4)
"""Rows that the stages of a group make at once, at least."""

MOST_SURCHARGE = 0.03
"""Of a program's instructions, for what streams need more than whole tensors, by default."""


@dataclass(frozen=True)
class ChosenStreams:
    """What the search has found.

    Attributes:
        streams: the groups, in order.
        limit: bytes of arena that the scratch of their stages may fill.
    """

    streams: tuple[Stream, ...] = ()
    limit: int = 0


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


def find_streams(computation: Computation, most: float) -> ChosenStreams:
    """The groups with which the arena is the smallest.

    Args:
        most: of the instructions, roughly, that the groups may add.
    """
    if not any(computation.row_calls):
        return ChosenStreams()
    return _Search(computation).best(most)


class _Search:
    """The cuts of the order of nodes into groups and single nodes.

    A tensor is whole unless one group has all that write and read it, so the memory that a group
    needs does not depend on the other cuts: the best ones are found by dynamic programming.
    """

    def __init__(self, computation: Computation) -> None:
        self._graph = computation.graph
        self._storage = computation.storage
        self._calls = computation.calls
        self._row_calls = {
            band: [
                [replace(call, band=max(call.band, band)) for call in own]
                for own in computation.row_calls
            ]
            for band in BANDS
        }
        self._isa = computation.isa
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
            used.at(index) + max((_scratch(call) for call in calls), default=0)
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

    def best(self, most: float) -> ChosenStreams:
        """The least limit at which the groups are cheap enough; they are at that of no groups."""
        allowed = most * sum(
            effort(node, calls, self._isa)
            for node, calls in zip(self._graph.nodes, self._calls, strict=True)
        )
        low, high = self._least_peak(), max(self._whole)
        best = self._cheapest(high)
        step = max(low // STEPS, ALIGN)
        limit = low
        while limit < high:
            found = self._cheapest(limit)
            if found[0] <= allowed:
                best, high = found, limit
                break
            low, limit, step = limit, limit + step, 2 * step
        while high - low > max(high // STEPS, ALIGN):
            limit = (low + high) // 2
            found = self._cheapest(limit)
            if found[0] <= allowed:
                best, high = found, limit
            else:
                low = limit
        return ChosenStreams(tuple(best[1]), aligned(high))

    def _least_peak(self) -> int:
        """The smallest maximum of bytes in use."""
        count = len(self._graph.nodes)
        peak = [0] * (count + 1)
        for end in range(1, count + 1):
            peak[end] = max(peak[end - 1], self._whole[end - 1])
            for bound, start in sorted((self._bound(s, end), s) for s in self._starts(end)):
                if bound >= peak[end]:
                    break
                if peak[start] < peak[end] and (found := self._stream(start, end, 1)):
                    peak[end] = min(peak[end], max(peak[start], found[1]))
        return peak[count]

    def _cheapest(self, limit: int) -> tuple[float, list[Stream]]:
        """The groups with the fewest instructions that need no more than `limit` bytes."""
        count = len(self._graph.nodes)
        costs: list[float] = [0.0] + [float("inf")] * count
        cuts: list[tuple[int, Stream | None]] = [(0, None)] * (count + 1)
        for end in range(1, count + 1):
            if self._whole[end - 1] <= limit:
                costs[end], cuts[end] = costs[end - 1], (end - 1, None)
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

    def _starts(self, end: int) -> range:
        """Where a group may begin that ends before node `end`."""
        start = end
        while start and self._row_calls[1][start - 1]:
            start -= 1
        return range(start, end)

    def _candidates(
        self, end: int, limit: int, costs: Sequence[float]
    ) -> list[tuple[float, int, int]]:
        """Starts and bands of a group that ends before node `end`, by the least cost so far."""
        found = []
        for start in self._starts(end):
            room = limit - self._bound(start, end)
            if room >= 0:
                found += [
                    (costs[start] + self._surcharge(start, end, band, room), start, band)
                    for band in BANDS
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
            fixed = [sum(cost.fixed for cost in own if not cost.turns) for own in each]
            growing = [(i, cost) for i, own in enumerate(each) for cost in own if cost.turns]
            found[band] = (list(accumulate(fixed, initial=0.0)), growing)
        return found

    def _inner(self, start: int, end: int) -> tuple[set[Tensor], list[Tensor]]:
        """What the nodes write that only they read, and what else they write."""
        lifetimes = self._memory.lifetimes
        written = [node.outputs[0] for node in self._graph.nodes[start:end]]
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
        _, whole = self._inner(start, end)
        size = self._passing[start] + sum(aligned(tensor.nbytes) for tensor in whole)
        pair = self._pair(start, end, whole)
        return size - (min(aligned(t.nbytes) for t in pair) if pair else 0)

    def _pair(self, start: int, end: int, whole: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
        """The largest input that nothing reads later, and the largest output to take its place."""
        lifetimes, nodes = self._memory.lifetimes, self._graph.nodes[start:end]
        kept = {state.tensor for state in self._graph.states}
        spent = [
            tensor
            for node, calls in zip(nodes, self._row_calls[1][start:end], strict=True)
            for tensor in node.inputs
            if tensor in self._lonely
            and tensor not in kept
            and lifetimes[tensor].first < start <= lifetimes[tensor].last < end
        ]
        spent = [t for t in spent if self._only_rows(t, start, end)]
        results = [tensor for tensor in whole if tensor in lifetimes]
        if not spent or not results:
            return None
        return max(spent, key=_size), max(results, key=_size)

    def _only_rows(self, tensor: Tensor, start: int, end: int) -> bool:
        """Whether it is read row by row wherever it is read."""
        return all(
            any(tensor in call.reads for call in calls)
            for node, calls in zip(
                self._graph.nodes[start:end], self._row_calls[1][start:end], strict=True
            )
            if tensor in node.inputs
        )

    def _stream(self, start: int, end: int, band: int) -> tuple[Stream, int] | None:
        """The group of the nodes, and the bytes in use while it runs."""
        if (start, end, band) not in self._known:
            self._known[start, end, band] = self._make(start, end, self._row_calls[band])
        return self._known[start, end, band]

    def _make(
        self, start: int, end: int, calls: Sequence[Sequence[RowCall]]
    ) -> tuple[Stream, int] | None:
        inner, whole = self._inner(start, end)
        group = make_group(self._graph.nodes, range(start, end), calls, inner)
        if group is None or not is_encodable(group):
            return None
        pair = self._pair(start, end, whole)
        rows = measure(group, *pair) if pair else measure(group)
        takeover, saved = None, 0
        if pair and rows.shift is not None:
            spent, result = pair
            takeover = Takeover(spent, result, aligned(rows.shift))
            both = aligned(spent.nbytes) + aligned(result.nbytes)
            saved = both - max(takeover.shift + aligned(spent.nbytes), aligned(result.nbytes))
            if saved <= 0:
                takeover, saved = None, 0
        stream = Stream(group, rows.rings, takeover, rows.turns)
        size = self._passing[start] + sum(aligned(tensor.nbytes) for tensor in whole) - saved
        size += sum(map(aligned, stream.ring_bytes.values()))
        size += aligned(PROGRESS_BYTES * len(group.stages))
        size += max(_scratch(stage.call.call) for stage in group.stages)
        return stream, size


def _size(tensor: Tensor) -> int:
    return tensor.nbytes


def _scratch(call: KernelCall) -> int:
    """Bytes, at least."""
    return sum(
        aligned(word.unit if isinstance(word, GrowableScratch) else word.size)
        for _, word in call.arguments
        if isinstance(word, GrowableScratch | Scratch)
    )

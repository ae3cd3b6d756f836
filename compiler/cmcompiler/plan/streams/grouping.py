"""Which consecutive nodes can be a group, and the bytes that each group needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import KernelCall, RowCall
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed
from cmcompiler.plan.arena import Steps, aligned, in_use
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.scratch import call_scratch, kept_scratch, passing_scratch
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES, is_encodable
from cmcompiler.plan.streams.group import make_group
from cmcompiler.plan.streams.shared_rings import SharedRings
from cmcompiler.plan.streams.stream import Stream, Takeover
from cmcompiler.plan.streams.turns import Rows, measure

NEVER = 1 << 40
"""Bytes of what memory must never hold."""


@dataclass(frozen=True)
class Computation:
    """A graph, and the ways to compute its nodes.

    Attributes:
        calls: those that compute each node as a whole.
        row_calls: those that compute it row by row, if that is possible.
        measured: rows of groups of such nodes, also of those in other graphs.
        in_whole: results that are whole may hold the rows of an input of theirs, too: groups need
            less then, but some layouts more.
    """

    graph: Graph
    storage: Mapping[Tensor, Storage]
    calls: Sequence[Sequence[KernelCall]]
    row_calls: Sequence[Sequence[RowCall]]
    isa: Isa
    measured: dict[Hashable, Rows] = field(default_factory=dict)
    in_whole: bool = True


class Grouping:
    """The groups of a computation.

    A tensor is whole unless one group has all that write and read it, so the memory that a group
    needs does not depend on the other groups.
    """

    def __init__(self, computation: Computation) -> None:
        self._graph = computation.graph
        self._storage = computation.storage
        self._calls = computation.calls
        self._row_calls = computation.row_calls
        self._measured = computation.measured
        self._hosting = computation.storage if computation.in_whole else {}
        nodes = list(enumerate(self._graph.nodes))
        self._fed = {i: node.outputs[0] for i, node in nodes if isinstance(node.op, Feed)}
        self._drained = {i: node.inputs[0] for i, node in nodes if isinstance(node.op, Drain)}
        self._bounds: dict[tuple[int, int], int] = {}
        self._known: dict[tuple[int, int, tuple[int, ...], bool], Stream | None] = {}
        self._held: dict[Tensor, list[int]] = {}
        self._banded: dict[tuple[int, int, int], RowCall] = {}
        self._scratch: dict[int, tuple[int, int]] = {}

    @property
    def ports(self) -> list[str]:
        """The inputs and outputs whose rows come from outside or go there."""
        return [self._graph.nodes[index].source for index in (*self._fed, *self._drained)]

    @cached_property
    def whole(self) -> list[int]:
        """Bytes in use during each node that computes whole tensors."""
        used = Steps(in_use(self._memory.blocks))
        return [
            NEVER
            if index in self._fed or index in self._drained or self._is_run(index)
            else used.at(index) + max((_scratch(call) for call in calls), default=0)
            for index, calls in enumerate(self._calls)
        ]

    def _is_run(self, index: int) -> bool:
        return any(call.tiled for call in self._row_calls[index])

    def calls(self, start: int, end: int) -> list[RowCall]:
        """Row calls of the stages of a group, in order."""
        return [call for own in self._row_calls[start:end] for call in own]

    def starts(self, end: int, limit: int) -> Iterator[int]:
        """Where a group may begin that ends before node `end`, unless its rings need more.

        Args:
            limit: bytes.
        """
        start, rings = end, 0
        while start and self._row_calls[start - 1]:
            start -= 1
            tensor = self._graph.nodes[start].outputs[0]
            if tensor in self._lonely and self._memory.lifetimes[tensor].last < end:
                rings += self._least_rings.get(tensor, 0)
            if rings > limit:
                return
            yield start

    def bound(self, start: int, end: int) -> int:
        """Fewer bytes than a group needs."""
        if (start, end) not in self._bounds:
            self._bounds[start, end] = self._find_bound(start, end)
        return self._bounds[start, end]

    def frame(self, start: int, end: int) -> tuple[int, int]:
        """Bytes that a group needs beside its rings and scratch, and those that it saves if its
        output takes the place of an input, but for the rows between both.
        """
        _, whole = self._inner(start, end)
        pair = self._pair(start, end, whole)
        saved = min(aligned(tensor.nbytes) for tensor in pair) if pair else 0
        return self._passing[start] + self._written(whole, start), saved

    def make(
        self, start: int, end: int, bands: tuple[int, ...], upward: bool = False
    ) -> Stream | None:
        """The group of some nodes; None if they cannot be one.

        Args:
            bands: how many rows each stage makes at once.
            upward: begin with the last rows.
        """
        key = start, end, bands, upward
        if key not in self._known:
            self._known[key] = self._make(*key)
        return self._known[key]

    @cached_property
    def _memory(self) -> Liveness:
        spans = [range(index, index + 1) for index in range(len(self._graph.nodes))]
        return analyse(self._graph, dict(self._storage), spans)

    @cached_property
    def _passing(self) -> list[int]:
        """Bytes that hold something from before each node to it or later."""
        passing = [0] * (len(self._graph.nodes) + 1)
        for tensor, life in self._memory.lifetimes.items():
            for index in range(life.first + 1, min(life.last, len(self._graph.nodes) - 1) + 1):
                passing[index] += aligned(tensor.nbytes)
        return passing

    def _inner(self, start: int, end: int) -> tuple[set[Tensor], list[Tensor]]:
        """Tensors that the nodes write and only they read, and others that they write."""
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

    def _written(self, tensors: Sequence[Tensor], start: int) -> int:
        """Bytes of memory that nodes from one on are the first to write; a part is as its whole."""
        size, owners = 0, set()
        for tensor in tensors:
            owner = self._storage[tensor].owner
            if owner.nbytes == tensor.nbytes:
                size += aligned(tensor.nbytes)
            elif self._memory.lifetimes[owner].first >= start:
                owners.add(owner)
        return size + sum(aligned(owner.nbytes) for owner in owners)

    def _find_bound(self, start: int, end: int) -> int:
        size, whole = self._passing[start], []
        for tensor, last, ring in self._made[start:end]:
            if last < end:
                size += ring
            else:
                whole.append(tensor)
        size += self._written(whole, start)
        pair = self._pair(start, end, whole)
        return size - (min(aligned(t.nbytes) for t in pair) if pair else 0)

    @cached_property
    def _made(self) -> list[tuple[Tensor, int, int]]:
        """What each node writes, the last node that needs it if that may be a ring, and the bytes
        of that at least.
        """
        lifetimes, rings = self._memory.lifetimes, self._least_rings
        made = []
        for index, node in enumerate(self._graph.nodes):
            tensor = node.outputs[0]
            last = lifetimes[tensor].last if tensor in self._lonely else NEVER
            is_drained = index in self._drained
            made.append((tensor, 0, 0) if is_drained else (tensor, last, rings.get(tensor, 0)))
        return made

    @cached_property
    def _least_rings(self) -> dict[Tensor, int]:
        """Bytes that the ring of a tensor takes at least; at an edge windows lack rows."""
        sizes: dict[Tensor, int] = {}
        for call in self.calls(0, len(self._row_calls)):
            for tensor, reach in call.reads.items():
                rows = (reach.high - reach.low) // reach.divisor
                rows = min(max(rows, 1), tensor.shape[1])
                sizes[tensor] = max(sizes.get(tensor, 0), rows * row_bytes(tensor))
        return sizes | dict.fromkeys(self._shared.every, 0)

    @cached_property
    def _shared(self) -> SharedRings:
        return SharedRings.of(self._graph, self._row_calls, self._lonely, self._hosting)

    def _pair(self, start: int, end: int, whole: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
        """The largest input that nothing reads later, and the largest output to take its place."""
        lifetimes = self._memory.lifetimes
        spent = [
            tensor for index, tensor, last in self._crossing[start] if index < end and last < end
        ]
        spent = [t for t in spent if self._only_rows(t, start, end)]
        results = [t for t in whole if t in lifetimes and t not in self._accumulated]
        if not spent or not results:
            return None
        return max(spent, key=_size), max(results, key=_size)

    @cached_property
    def _crossing(self) -> list[list[tuple[int, Tensor, int]]]:
        """Of each node, which ones from there on read what there was before, and the last one."""
        crossing: list[list[tuple[int, Tensor, int]]] = [[] for _ in self._graph.nodes]
        for index, own in enumerate(self._spendable):
            for tensor, first, last in own:
                for start in range(first + 1, min(index, last) + 1):
                    crossing[start].append((index, tensor, last))
        return crossing

    @cached_property
    def _spendable(self) -> list[list[tuple[Tensor, int, int]]]:
        """The inputs of each node that own all of their memory, and its first and last node."""
        lifetimes, kept = self._memory.lifetimes, {state.tensor for state in self._graph.states}
        return [
            [
                (tensor, lifetimes[owner].first, lifetimes[owner].last)
                for tensor in node.inputs
                for owner in (self._storage[tensor].owner,)
                if owner in lifetimes and owner not in kept and owner.nbytes == tensor.nbytes
            ]
            for node in self._graph.nodes
        ]

    @cached_property
    def _accumulated(self) -> set[Tensor]:
        """Results that are there at the end of a group, not row by row."""
        nodes = zip(self._graph.nodes, self._row_calls, strict=True)
        return {node.outputs[0] for node, own in nodes if any(call.accumulates for call in own)}

    def _only_rows(self, tensor: Tensor, start: int, end: int) -> bool:
        """Whether it is read row by row wherever it is read, and under no other name."""
        if tensor not in self._held:
            users = self._users[self._storage[tensor].owner]
            self._held[tensor] = [
                index
                for index, each in users
                if each is not tensor
                or not any(tensor in call.reads for call in self._row_calls[index])
            ]
        return not any(start <= index < end for index in self._held[tensor])

    @cached_property
    def _users(self) -> Mapping[Tensor, list[tuple[int, Tensor]]]:
        """The nodes that read or write the memory of each tensor, and its name there."""
        users: dict[Tensor, list[tuple[int, Tensor]]] = defaultdict(list)
        for index, node in enumerate(self._graph.nodes):
            for each in (*node.inputs, *node.outputs):
                users[self._storage[each].owner].append((index, each))
        return users

    def _make(self, start: int, end: int, bands: tuple[int, ...], upward: bool) -> Stream | None:
        inner, whole = self._inner(start, end)
        outside = self._fed | self._drained
        ports = [outside[index] for index in range(start, end) if index in outside]
        if any(tensor not in inner for tensor in ports) or (ports and upward):
            return None
        if upward and any(map(self._is_run, range(start, end))):
            return None
        height, nodes = iter(bands), range(start, end)
        calls = {
            index: [self._with_band(index, part, next(height)) for part in range(len(own))]
            for index, own in enumerate(self._row_calls[start:end], start)
        }
        group = make_group(self._graph.nodes, nodes, calls, inner, upward)
        if group is None or not is_encodable(group):
            return None
        pair = self._pair(start, end, whole)
        made = self._graph.nodes[start:end]
        hosts = self._shared.hosts(group)
        key = made, frozenset(inner), bands, upward, pair, tuple(hosts.items())
        if key not in self._measured:
            spent, result = pair or (None, None)
            self._measured[key] = measure(group, spent, result, hosts)
        rows = self._measured[key]
        takeover, saved = None, 0
        if pair and rows.shift is not None:
            takeover = Takeover.of(*pair, rows.shift, upward)
            saved = takeover.saved
            if saved <= 0:
                takeover, saved = None, 0
        size = self._passing[start] + self._written(whole, start) - saved
        own = ((ring, rows.rings[ring]) for ring in rows.rings if ring not in hosts)
        size += sum(aligned(count * row_bytes(ring)) for ring, count in own)
        size += aligned(PROGRESS_BYTES * group.step_count)
        scratch = [self._scratch_of(stage.call) for stage in group.stages]
        size += sum(kept for kept, _ in scratch) + max(passing for _, passing in scratch)
        return Stream(group, rows.rings, takeover, rows.turns, size, hosts)

    def _with_band(self, index: int, part: int, band: int) -> RowCall:
        """A row call of a node with so many rows at once: the same one each time."""
        key = index, part, band
        if key not in self._banded:
            self._banded[key] = self._row_calls[index][part].banded(band)
        return self._banded[key]

    def _scratch_of(self, call: RowCall) -> tuple[int, int]:
        """Bytes of scratch from turn to turn, and during one, of a call with some band."""
        if id(call) not in self._scratch:
            self._scratch[id(call)] = kept_scratch(call.call), passing_scratch(call)
        return self._scratch[id(call)]


def _size(tensor: Tensor) -> int:
    return tensor.nbytes


def _scratch(call: KernelCall) -> int:
    """Bytes, at least."""
    return sum(aligned(piece.size) for piece in call_scratch(call))

"""A graph with some of its ops in streams, its memory, and what computing it so costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import ALIGN, KernelCall, Scratch, TiledCall
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan import arena
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.arena import ArenaBlock, ArenaLayout, BlockUse
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.schedule import Schedule, ScheduleEntry, StreamStart, make_schedule
from cmcompiler.plan.scratch import GrownScratch, grow_scratch, least_scratch
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.costs.effort import effort
from cmcompiler.plan.streams.costs.growth import Growth
from cmcompiler.plan.streams.costs.surcharge import surcharge
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES
from cmcompiler.plan.streams.group import StreamStage
from cmcompiler.plan.streams.stream import Stream

ARENA_LIMIT = 256 << 20
"""Bytes; more than any board has, and within the reference interpreter's memory."""

SIZES = 512
"""An arena is made larger in steps of one part in so many."""

_KNOWN = ("schedule", "memory", "scratch", "blocks")
"""Cached properties that do not depend on the arena's size."""


@dataclass(frozen=True)
class Draft:
    """A graph with some streams, and its memory.

    Attributes:
        calls: those that compute each node as a whole.
        least: bytes of arena at least, for scratch to grow into.
        room: bytes of arena that scratch is laid out to fill; 0 to lay out the least scratch.
        floor: bytes that no choice of streams comes below; None if there is none.
    """

    graph: Graph
    isa: Isa
    storage: dict[Tensor, Storage]
    calls: Sequence[Sequence[KernelCall]]
    streams: tuple[Stream, ...] = ()
    least: int = 0
    room: int = 0
    floor: int | None = None
    _others: dict[tuple[Stream, ...] | int, Draft] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Drafts made of this one, by streams or bytes: budgets ask for the same ones again."""

    @property
    def is_fed(self) -> bool:
        """Rows of inputs or outputs come from outside or go there."""
        return any(port.fed for port in (*self.graph.inputs, *self.graph.outputs))

    @cached_property
    def needs_streams(self) -> bool:
        """Some of its nodes cannot compute whole tensors: those of rows from outside, and runs."""
        return self.is_fed or any(isinstance(node.op, Run) for node in self.graph.nodes)

    @cached_property
    def schedule(self) -> Schedule:
        return make_schedule(self.graph.nodes, self.calls, self.streams)

    @cached_property
    def memory(self) -> Liveness:
        return analyse(self.graph, self.storage, self.schedule.times, self.streams)

    @cached_property
    def scratch(self) -> list[list[Scratch]]:
        return [least_scratch(entry) for entry in self.schedule.entries]

    @cached_property
    def blocks(self) -> list[ArenaBlock]:
        return self._blocks(self.scratch)

    def _blocks(self, scratch: Iterable[Sequence[Scratch]]) -> list[ArenaBlock]:
        progress = _progress_blocks(self.schedule.entries)
        return [*self.memory.blocks, *progress, *self._scratch_blocks(scratch)]

    def _scratch_blocks(self, scratch: Iterable[Sequence[Scratch]]) -> Iterator[ArenaBlock]:
        """Blocks for the scratch of each step, in order."""
        for step, pieces in enumerate(scratch):
            times = self.schedule.times[self.schedule.entries[step].node]
            for piece in pieces:
                ends = (times.start, times[-1]), (step, step + piece.steps - 1)
                first, last = ends[0] if piece.kept else ends[1]
                yield ArenaBlock((BlockUse(first, last, piece.size),))

    @cached_property
    def layout(self) -> ArenaLayout:
        """
        Raises:
            Unsupported: the arena needs 256 MiB or more.
        """
        bound = arena.lower_bound(self.blocks)
        if bound + SLACK >= ARENA_LIMIT:
            raise Unsupported(f"activations need {bound:,} bytes at once, more than 256 MiB")
        layout = arena.place(self._blocks(self._filling) if self.room else self.blocks)
        return replace(layout, size=max(layout.size, self.least))

    @property
    def _filling(self) -> Iterator[list[Scratch]]:
        """The scratch of each step, as large as there is room for whatever the layout."""
        used = arena.Steps(arena.in_use(self.blocks))
        for step, entry in enumerate(self.schedule.entries):
            yield least_scratch(entry, max(self.room - used.at(step), 0))

    @property
    def size(self) -> int:
        """Bytes of arena."""
        return self.layout.size

    @cached_property
    def grown(self) -> GrownScratch:
        return grow_scratch(self.schedule.entries, self.blocks, self.layout)

    @property
    def lower_bound(self) -> int:
        """Bytes that any streams need, and any layout of these at the most."""
        bound = arena.lower_bound(self.blocks)
        return bound if self.floor is None else min(bound, self.floor)

    def bounded(self, floor: int) -> Draft:
        """This draft with a bound."""
        return self._knowing(replace(self, floor=floor), "layout", "grown")

    def _knowing(self, draft: Draft, *names: str) -> Draft:
        """Another one, of which what this one knows by these names is true."""
        draft.__dict__.update({name: getattr(self, name) for name in (*_KNOWN, *names)})
        return draft

    def in_streams(self, streams: tuple[Stream, ...]) -> Draft:
        """This draft with these streams."""
        if streams not in self._others:
            hosts = {guest: self.storage[host] for s in streams for guest, host in s.hosts.items()}
            self._others[streams] = replace(self, streams=streams, storage=self.storage | hosts)
        return self._others[streams]

    def enlarged(self, size: int) -> Draft:
        """This draft with more room for scratch: behind all else, or in a layout that fills it."""
        if size not in self._others:
            self._others[size] = self._enlarge(size)
        return self._others[size]

    def _enlarge(self, size: int) -> Draft:
        behind = self._knowing(replace(self, least=size))
        behind.__dict__["layout"] = replace(self.layout, size=max(self.size, size))
        if not behind.surcharge:
            return behind
        filling = self._knowing(replace(self, room=size))
        is_better = filling.size <= behind.size and filling.surcharge < behind.surcharge
        return filling if is_better else behind

    @cached_property
    def stages(self) -> dict[int, tuple[Stream, StreamStage]]:
        """The stages of all streams, by their first steps."""
        return {
            step + 1 + place: (entry.action.stream, stage)
            for step, entry in enumerate(self.schedule.entries)
            if isinstance(entry.action, StreamStart)
            for group in (entry.action.stream.group,)
            for place, stage in zip(group.step_of, group.stages, strict=True)
        }

    @cached_property
    def tiled(self) -> dict[int, TiledCall]:
        """The calls of all runs, by their steps."""
        return {
            step + index: call
            for step, (_, stage) in self.stages.items()
            for index, call in enumerate(stage.call.tiled, 1)
        }

    def scope(self, step: int) -> range:
        """The steps of the run that a step belongs to; empty if it is not a call of one."""
        start = step
        while start in self.tiled:
            start -= 1
        if start == step:
            return range(0)
        _, stage = self.stages[start]
        return range(start, start + stage.steps)

    @property
    def effort(self) -> float:
        """Instructions, roughly, of whole tensors."""
        nodes = zip(self.graph.nodes, self.calls, strict=True)
        parts = (part for node, calls in nodes for part in _operators(node, calls, self.isa))
        return sum(effort(node, calls, self.isa) for node, calls in parts)

    @cached_property
    def surcharge(self) -> float:
        """Instructions, roughly, more than those of whole tensors with all scratch of use."""
        stages = self.stages
        total = 0.0
        for index, (entry, units) in enumerate(
            zip(self.schedule.entries, self.grown.units, strict=True)
        ):
            node = self.graph.nodes[entry.node]
            if index in stages:
                stream, stage = stages[index]
                cost = surcharge(node, stage.call, self.isa, stream.rings_of(stage))
                total += cost.with_units(units)
            elif isinstance(entry.action, KernelCall) and units:
                grown = Growth.of(node, entry.action, self.isa)
                total += 0 if grown is None else grown.more_whole(units)
        return total

    def within(self, most: float, below: int) -> Draft | None:
        """The smallest arena for these streams with which they cost no more; None without any.

        Args:
            most: instructions.
            below: bytes that it has to be smaller than.
        """
        low, high = self.size, below - ALIGN
        if low > high or self.surcharge <= most:
            return self if low <= high else None
        best = self.enlarged(high)
        if best.surcharge > most:
            return None
        while high - low > max(high // SIZES, ALIGN):
            middle = arena.aligned((low + high) // 2)
            draft = self.enlarged(middle)
            if draft.surcharge <= most:
                best, high = draft, middle
            else:
                low = middle
        return best


def _operators(
    node: Node, calls: Sequence[KernelCall], isa: Isa
) -> Iterator[tuple[Node, Sequence[KernelCall]]]:
    """A node, or those of a run, each with the calls that compute it as a whole."""
    if not isinstance(node.op, Run):
        yield node, calls
        return
    for part in node.op.parts:
        yield part, part.op.kernel_calls(part.inputs, part.outputs, isa)


def _progress_blocks(entries: Sequence[ScheduleEntry]) -> list[ArenaBlock]:
    """Arena blocks for the progress of the stages of each stream."""
    return [
        ArenaBlock((BlockUse(step, step + start.count, PROGRESS_BYTES * start.count),))
        for step, entry in enumerate(entries)
        if isinstance(start := entry.action, StreamStart)
    ]

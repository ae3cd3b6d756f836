"""The order of a plan's steps: kernel calls of nodes, branches around them, streams of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cmcompiler.ir.graph import Guard, Node
from cmcompiler.ir.op import KernelCall
from cmcompiler.plan.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class BranchStart:
    """Skips the `count` steps that follow unless the guard holds."""

    guard: Guard
    count: int


@dataclass(frozen=True, slots=True)
class StreamStart:
    """Runs the stages that follow in turns."""

    stream: Stream

    @property
    def count(self) -> int:
        return self.stream.group.step_count


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """The work of one step.

    Attributes:
        node: index of the calling node; for a branch or stream, of the first node inside.
    """

    node: int
    action: KernelCall | BranchStart | StreamStart


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps in order.

    Attributes:
        spans: per node, its kernel calls as indices of `entries`.
        times: per node, the steps during which it is computed: its own, or all of its stream.
    """

    entries: tuple[ScheduleEntry, ...]
    spans: tuple[range, ...]
    times: tuple[range, ...]


def make_schedule(
    nodes: Sequence[Node], calls: Sequence[Sequence[KernelCall]], streams: Sequence[Stream] = ()
) -> Schedule:
    """
    Args:
        calls: of each node as a whole; those of streams have their own.
    """
    every = list(calls)
    for stream in streams:
        stages = stream.group.stages
        for index in stream.group.nodes:
            every[index] = tuple(
                call
                for stage in stages
                if stage.node == index
                for call in (stage.call.call, *(tiled.call for tiled in stage.call.tiled))
            )
    starts = {stream.group.nodes[0]: stream for stream in streams}
    entries = _entries(range(len(nodes)), nodes, every, starts, 0)
    spans = tuple(_spans(entries, every))
    times = list(spans)
    for stream in streams:
        first, last = spans[stream.group.nodes[0]], spans[stream.group.nodes[-1]]
        for index in stream.group.nodes:
            times[index] = range(first.start - 1, last.stop)
    return Schedule(tuple(entries), spans, tuple(times))


def _entries(
    indices: Sequence[int],
    nodes: Sequence[Node],
    calls: Sequence[Sequence[KernelCall]],
    streams: Mapping[int, Stream],
    depth: int,
) -> list[ScheduleEntry]:
    """Entries of nodes that share their first `depth` guards."""

    def guard_of(index: int) -> Guard | None:
        guards = nodes[index].guards
        return guards[depth] if depth < len(guards) else None

    entries: list[ScheduleEntry] = []
    for guard, group in groupby(indices, guard_of):
        members = list(group)
        if guard is None:
            for index in members:
                if index in streams:
                    entries.append(ScheduleEntry(index, StreamStart(streams[index])))
                entries += (ScheduleEntry(index, call) for call in calls[index])
        elif inside := _entries(members, nodes, calls, streams, depth + 1):
            entries += (ScheduleEntry(members[0], BranchStart(guard, len(inside))), *inside)
    return entries


def _spans(
    entries: Sequence[ScheduleEntry], calls: Sequence[Sequence[KernelCall]]
) -> Iterator[range]:
    position = 0
    for group in calls:
        while group and not isinstance(entries[position].action, KernelCall):
            position += 1
        yield range(position, position + len(group))
        position += len(group)

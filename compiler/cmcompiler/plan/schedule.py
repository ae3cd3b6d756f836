"""The order of a plan's steps: kernel calls of nodes, and branches around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from cmcompiler.ir.graph import Guard, Node
from cmcompiler.ir.op import KernelCall


@dataclass(frozen=True, slots=True)
class BranchStart:
    """Skips the `count` steps that follow unless the guard holds."""

    guard: Guard
    count: int


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """What one step does.

    Attributes:
        node: index of the calling node; for a branch, of the first node inside.
    """

    node: int
    action: KernelCall | BranchStart


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps in order.

    Attributes:
        spans: per node, its kernel calls as indices of `entries`.
    """

    entries: tuple[ScheduleEntry, ...]
    spans: tuple[range, ...]


def make_schedule(nodes: Sequence[Node], calls: Sequence[Sequence[KernelCall]]) -> Schedule:
    entries = _entries(range(len(nodes)), nodes, calls, 0)
    return Schedule(tuple(entries), tuple(_spans(entries, calls)))


def _entries(
    indices: Sequence[int],
    nodes: Sequence[Node],
    calls: Sequence[Sequence[KernelCall]],
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
            entries += (ScheduleEntry(index, call) for index in members for call in calls[index])
        elif inside := _entries(members, nodes, calls, depth + 1):
            entries += (ScheduleEntry(members[0], BranchStart(guard, len(inside))), *inside)
    return entries


def _spans(
    entries: Sequence[ScheduleEntry], calls: Sequence[Sequence[KernelCall]]
) -> Iterator[range]:
    position = 0
    for group in calls:
        while group and isinstance(entries[position].action, BranchStart):
            position += 1
        yield range(position, position + len(group))
        position += len(group)

"""The turns that the stages of a group take, and the rows that have to be kept meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from math import lcm
from types import MappingProxyType
from typing import NamedTuple

from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.streams.group import Group

NONE: Mapping[Tensor, Tensor] = MappingProxyType({})


class Turn(NamedTuple):
    """A stage makes its rows [start, end), in the order of its group."""

    stage: int
    start: int
    end: int

    def rows(self, group: Group) -> tuple[int, int]:
        """As the stage's kernel is called."""
        if not group.upward:
            return self.start, self.end
        both = group.stages[self.stage].start + group.stages[self.stage].end
        return both - self.end, both - self.start


def turns(group: Group) -> Iterator[Turn]:
    """All turns in order. A stage that lacks rows waits for one band of them after the other."""
    stages = group.stages
    ends = [stage.end for stage in stages]
    bands = [stage.call.band for stage in stages]
    demands = [
        [(d.stage, d.factor, d.offset, d.divisor, ends[d.stage]) for d in stage.demands]
        for stage in stages
    ]
    made = [stage.start for stage in stages]
    callers = [0] * len(stages)
    complete = {index for tensor in group.whole for index in group.writers[tensor]}
    for last in sorted(complete, reverse=True):
        at = last
        while made[last] < ends[last]:
            start = made[at]
            end = start + bands[at]
            if group.upward:
                # Bands then begin where those of rings do, as downwards.
                both = stages[at].start + ends[at]
                end = both - (both - start - 1) // bands[at] * bands[at]
            end = min(end, ends[at])
            for other, factor, offset, divisor, most in demands[at]:
                if made[other] < most and made[other] < (end * factor + offset) // divisor:
                    callers[other] = at
                    at = other
                    break
            else:
                yield Turn(at, start, end)
                made[at] = end
                if at != last:
                    at = callers[at]


def calls_in_turn(group: Group, ring_rows: Callable[[Tensor], int]) -> tuple[int, ...]:
    """The steps of a group in the order of their kernel calls, of which some take a row each, and
    waits.

    Args:
        ring_rows: how many rows of a tensor are in memory.
    """
    return tuple(step for turn in turns(group) for step in _steps(group, turn, ring_rows))


def _steps(group: Group, turn: Turn, ring_rows: Callable[[Tensor], int]) -> Iterator[int]:
    stage, first = group.stages[turn.stage], group.step_of[turn.stage]
    if not stage.call.tiled:
        yield from repeat(first, stage.calls(*turn.rows(group), ring_rows))
    for _ in range(stage.call.tiles):
        for at, call in enumerate(stage.call.tiled, 1):
            if call.rows_for(turn.start, turn.end):
                yield first + at


@dataclass(frozen=True)
class Rows:
    """The rows that a group needs.

    Attributes:
        rings: per tensor that is a ring, how many rows that holds.
        shift: if output rows take the place of spent input rows, how many bytes before the first
            input row the first output row has to begin, at least; in a group that runs upwards, how
            many bytes after the end of the last input row the last output row has to end. None
            without such a pair.
        turns: their number.
    """

    rings: dict[Tensor, int]
    shift: int | None
    turns: int


def measure(
    group: Group,
    spent: Tensor | None = None,
    result: Tensor | None = None,
    hosts: Mapping[Tensor, Tensor] = NONE,
) -> Rows:
    """Takes all turns.

    Args:
        spent, result: an input of the group that nothing reads later, and an output of it.
        hosts: the results in whose memory other images lie.
    """
    stages = group.stages
    made = [stage.start for stage in stages]
    kept = dict.fromkeys((ring for ring in group.rings if ring not in hosts), 1)
    room, count = 1 << 62, 0
    readers = {
        tensor: [
            (index, reach.factor, reach.low, reach.divisor, stages[index].end)
            for index in group.readers.get(tensor, ())
            for reach in (stages[index].ordered.reads[tensor],)
        ]
        for tensor in (*group.writers, *group.readers)
    }

    def first_needed(tensor: Tensor) -> int:
        """The first row that a reader still takes."""
        first = tensor.shape[1]
        for index, factor, low, divisor, end in readers[tensor]:
            at = made[index]
            if at < end:
                row = (at * factor + low) // divisor
                first = min(first, row)
        return first if first > 0 else 0

    places = [hosts.get(stage.output, stage.output) for stage in stages]
    sharing = {place: [place, *(t for t in hosts if hosts[t] is place)] for place in places}
    outputs = [
        (place, stage.ordered.first, stage.ordered.step, place in kept)
        for place, stage in zip(places, stages, strict=True)
    ]
    others = [
        [
            (index, stages[index].ordered.first, stages[index].ordered.step, stages[index].end)
            for index in group.writers[stage.output]
        ]
        for stage in stages
    ]
    for at, _, stop in turns(group):
        count += 1
        tensor, offset, step, is_ring = outputs[at]
        end = offset + step * (stop - 1) + 1
        if is_ring:
            first = min(map(first_needed, sharing[tensor]))
            # What another writer has yet to write may be rows that no reader takes.
            for index, begin, pace, final in others[at]:
                if made[index] < final:
                    first = min(first, begin + pace * made[index])
            kept[tensor] = max(kept[tensor], end - first)
        elif tensor is result and spent is not None:
            room = min(room, first_needed(spent) * row_bytes(spent) - end * row_bytes(tensor))
        made[at] = stop
    rings = {t: _round(group, t, rows) for t, rows in kept.items()}
    rings |= {guest: rings[host] for guest, host in hosts.items() if host in rings}
    return Rows(rings, None if spent is None else max(0, -room), count)


def _round(group: Group, tensor: Tensor, rows: int) -> int:
    """At most all rows; a multiple of the steps of those who write it."""
    step = lcm(*(group.stages[index].call.step for index in group.writers[tensor]))
    return min(-(-rows // step) * step, -(-tensor.shape[1] // step) * step)

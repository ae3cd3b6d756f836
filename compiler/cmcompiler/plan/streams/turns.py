"""The turns that the stages of a group take, and the rows that have to be kept meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.streams.group import Group


class Turn(NamedTuple):
    """A stage makes its rows [start, end)."""

    stage: int
    start: int
    end: int


def turns(group: Group) -> Iterator[Turn]:
    """All turns in order: those of run_stream in runtime/runner/step.c."""
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
            end = min(start + bands[at], ends[at])
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


def calls_in_turn(group: Group) -> tuple[int, ...]:
    """The stages in the order of their kernel calls, of which some take a row each."""
    return tuple(
        turn.stage
        for turn in turns(group)
        for _ in range(turn.end - turn.start if group.stages[turn.stage].moves else 1)
    )


@dataclass(frozen=True)
class Rows:
    """What a group needs.

    Attributes:
        rings: per tensor that is a ring, how many rows that holds.
        shift: how many bytes before the first input row the first output row may be placed at the
            latest, if output rows take the place of spent input rows; None without such a pair.
        turns: their number.
    """

    rings: dict[Tensor, int]
    shift: int | None
    turns: int


def measure(group: Group, spent: Tensor | None = None, result: Tensor | None = None) -> Rows:
    """Takes all turns.

    Args:
        spent, result: an input of the group that nothing reads later, and an output of it.
    """
    stages = group.stages
    made = [stage.start for stage in stages]
    kept = dict.fromkeys(group.rings, 1)
    room, count = 1 << 62, 0
    readers = {
        tensor: [
            (index, reach.factor, reach.low, reach.divisor, stages[index].end)
            for index in group.readers.get(tensor, ())
            for reach in (stages[index].call.reads[tensor],)
        ]
        for tensor in (*group.writers, *group.readers)
    }

    def first_needed(tensor: Tensor) -> int:
        """The first row that a reader still takes."""
        first = tensor.shape[1]
        for index, factor, low, divisor, end in readers[tensor]:
            if made[index] < end:
                first = min(first, (made[index] * factor + low) // divisor)
        return max(first, 0)

    for turn in turns(group):
        count += 1
        stage = stages[turn.stage]
        tensor = stage.output
        end = stage.call.output_row(turn.end - 1) + 1
        if tensor in kept:
            # What another writer has yet to write may be rows that no reader takes.
            unwritten = (
                stages[index].call.output_row(made[index])
                for index in group.writers[tensor]
                if made[index] < stages[index].end
            )
            first = min(first_needed(tensor), *unwritten)
            kept[tensor] = max(kept[tensor], end - first)
        elif tensor is result and spent is not None:
            room = min(room, first_needed(spent) * row_bytes(spent) - end * row_bytes(tensor))
        made[turn.stage] = turn.end
    rings = {t: _round(group, t, rows) for t, rows in kept.items()}
    return Rows(rings, None if spent is None else max(0, -room), count)


def _round(group: Group, tensor: Tensor, rows: int) -> int:
    """At most all rows; a multiple of the steps of those who write it."""
    step = lcm(*(group.stages[index].call.step for index in group.writers[tensor]))
    return min(-(-rows // step) * step, -(-tensor.shape[1] // step) * step)

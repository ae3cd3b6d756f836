"""The hot blocks of an operator, instruction by instruction, and what each waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cmbuild.cycles.core import Core
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.instruction import Instruction
from cmbuild.cycles.profile import Edges

_ROUNDS = 6
"""Rounds of a loop until its pipelines are full."""


@dataclass(frozen=True, slots=True)
class TimedInstruction:
    """An instruction where it usually runs.

    Attributes:
        issue: cycles of its own.
        stall: cycles before it can begin.
        reason: for a stall, or for more than one cycle of its own.
    """

    address: int
    text: str
    issue: float
    stall: float
    reason: str


@dataclass(frozen=True, slots=True)
class HotBlock:
    """Instructions that run one after the other.

    Attributes:
        executions, cycles: in the operator, of one inference.
        after: address of the block that usually runs before it; its own for a loop.
    """

    address: int
    executions: int
    cycles: float
    after: int | None
    instructions: tuple[TimedInstruction, ...]


@dataclass(frozen=True, slots=True)
class _Event:
    """An instruction, and whether execution continues elsewhere after it."""

    instruction: Instruction
    is_taken: bool = False
    following: Instruction | None = None


def hot_blocks(estimator: Estimator, segments: Iterable[Edges], most: int) -> list[HotBlock]:
    """The blocks with the most cycles, the hottest first.

    A simulator enters a loop in the middle of a block, or leaves it there, and has another block
    for what is left: such a one counts for the hottest that it shares instructions with.

    Args:
        segments: of the operator.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for segment in segments:
        counts.update({edge: count for edge, count in segment.items() if all(edge)})
    cycles: Counter[int] = Counter()
    for edge, count in counts.items():
        cycles[edge[1]] += count * estimator.cost(edge)  # type: ignore[assignment]
    windows = []
    for block, others in _merged(estimator, [block for block, _ in cycles.most_common()], most):
        cost = sum(cycles[each] for each in (block, *others))
        executions = sum(count for edge, count in counts.items() if edge[1] in (block, *others))
        entries = {edge[0]: count for edge, count in counts.items() if edge[1] == block}
        exits = {edge[1]: count for edge, count in counts.items() if edge[0] == block}
        before = max(entries, key=entries.__getitem__)
        after = max(exits, key=exits.__getitem__, default=None)
        windows.append(
            HotBlock(
                address=estimator.profile.blocks[block].address,
                executions=executions,
                cycles=round(float(cost), 1),
                after=estimator.profile.blocks[before].address,
                instructions=_timed(estimator, before, block, after),
            )
        )
    return sorted(windows, key=lambda window: -window.cycles)


def _merged(estimator: Estimator, hottest: Sequence[int], most: int) -> list[tuple[int, list[int]]]:
    """The first blocks, each with those of the others that share instructions with it."""
    groups: list[tuple[int, list[int]]] = []
    places: dict[int, list[int]] = {}
    for block in hottest:
        addresses = [instruction.address for instruction in estimator.body(block)]
        others = next((places[address] for address in addresses if address in places), None)
        if others is not None:
            others.append(block)
        elif len(groups) < most:
            others = []
            groups.append((block, others))
            places |= dict.fromkeys(addresses, others)
    return groups


def _timed(
    estimator: Estimator, before: int, block: int, after: int | None
) -> tuple[TimedInstruction, ...]:
    body = estimator.body(block)
    if before == block:
        events = _events(estimator, block, block) * _ROUNDS
    else:
        events = [*_events(estimator, before, block), *_events(estimator, block, after)]
    first = len(events) - len(body)
    deltas = _deltas(estimator.core(), events)
    return tuple(
        _explained(estimator, events[: index + 1], deltas[index])
        for index in range(first, len(events))
    )


def _events(estimator: Estimator, block: int, following: int | None) -> list[_Event]:
    body = estimator.body(block)
    events = [_Event(instruction) for instruction in body]
    target = estimator.body(following) if following is not None else ()
    if events and following is not None and estimator.is_taken(block, following):
        events[-1] = _Event(body[-1], True, target[0] if target else None)
    return events


def _deltas(core: Core, events: Sequence[_Event]) -> list[float]:
    durations = []
    for event in events:
        start = core.clock
        core.issue(event.instruction, event.is_taken, event.following)
        durations.append(core.clock - start)
    return durations


def _explained(estimator: Estimator, events: Sequence[_Event], cycles: float) -> TimedInstruction:
    """The last of some events."""
    event = events[-1]
    alone = _deltas(estimator.core(), [event])[0]
    issue = min(cycles, alone)
    stall = cycles - issue
    if stall > 0:
        reason = _cause(estimator, events, cycles)
    elif cycles == 0:
        reason = "with the one before"
    elif issue > 1:
        reason = "refills the pipeline" if event.is_taken else f"takes {issue:g} cycles"
    else:
        reason = ""
    instruction = event.instruction
    text = " ".join(instruction.text.split())
    return TimedInstruction(instruction.address, text, round(issue, 2), round(stall, 2), reason)


def _cause(estimator: Estimator, events: Sequence[_Event], cycles: float) -> str:
    """Which register it waits for: the one without whose writer it would begin earlier."""
    instruction = events[-1].instruction
    for name in (*instruction.address_registers, *instruction.reads, *instruction.addends):
        writers = [each for each in events[:-1] if name in each.instruction.writes]
        if not writers:
            continue
        free = [*(_without(each, name) for each in events[:-1]), events[-1]]
        if _deltas(estimator.core(), free)[-1] < cycles:
            return f"waits for {name} of {' '.join(writers[-1].instruction.text.split())}"
    return "waits for a unit that is busy"


def _without(event: _Event, name: str) -> _Event:
    writes = tuple(each for each in event.instruction.writes if each != name)
    return replace(event, instruction=replace(event.instruction, writes=writes))

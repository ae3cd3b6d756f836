"""Cycles of a run: how often each block ran, times what a model of the core says that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cmbuild.cycles.core import Core
from cmbuild.cycles.decoding import UnknownInstruction
from cmbuild.cycles.disassembly import Disassembly
from cmbuild.cycles.flash import FlashModel
from cmbuild.cycles.instruction import Instruction, Kind
from cmbuild.cycles.profile import Edges, Profile

_CONTEXT = 8
"""Instructions of the block before that still matter when the next one begins."""

_READINGS = 16
"""Clock readings before the first step: runtime/include/cmrt/stopwatch.h measures its cost."""


@dataclass(slots=True)
class Estimator:
    """Cycles of the segments of a profile.

    A block's cycles depend on the block before it. The last instruction of a block belongs to the
    edge that leaves it, because only that one tells whether a branch is taken.

    Attributes:
        more: readings of the clock before the first step, besides those that measure its cost.
        unknown: instructions that ran and that no table knows, by text.
    """

    core: Callable[[], Core]
    code: Disassembly
    profile: Profile
    more: int = 0
    unknown: set[str] = field(default_factory=set)
    _bodies: dict[int, tuple[Instruction, ...]] = field(default_factory=dict)
    _costs: dict[tuple[int, int], float] = field(default_factory=dict)
    _leaving: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for segment in self.profile.segments:
            for (before, after), count in segment.items():
                if before and self.body(before):
                    taken[before][self.is_taken(before, after)] += count
        self._leaving = {block: (stays, leaves) for block, (stays, leaves) in taken.items()}

    def cycles(self, segment: Edges) -> float:
        return sum(count * self.cost(edge) for edge, count in segment.items() if all(edge))

    def intervals(self) -> list[float]:
        """Between the readings of the clock from the first step on, less what a reading takes.

        Those that the image measured and those between them alternate.
        """
        return between_readings(self.profile, self.more, self.cycles)

    def with_flash(self, flash: FlashModel) -> list[float]:
        """Cycles of the same intervals, with what the core waits for flash."""
        if not self.profile.flash:
            return []
        both = zip(self.profile.segments, self.profile.flash, strict=True)
        counts = {id(segment): reads for segment, reads in both}

        def cycles(segment: Edges) -> float:
            return flash.cycles(self.cycles(segment), counts[id(segment)])

        return between_readings(self.profile, self.more, cycles)

    def instructions(self) -> list[float]:
        """Executed in the same intervals."""
        return executed(self.profile, self.more)

    @property
    def measured(self) -> Sequence[Edges]:
        """The segments of `intervals`."""
        return _measured(self.profile, self.more)

    def body(self, block: int) -> tuple[Instruction, ...]:
        """Its instructions, up to the first unknown one."""
        if block not in self._bodies:
            counted, body = self.profile.blocks[block], []
            try:
                for instruction in self.code.block(counted.address, counted.count):
                    body.append(instruction)
            except UnknownInstruction as error:
                self.unknown.add(str(error))
            self._bodies[block] = tuple(body)
        return self._bodies[block]

    def is_taken(self, before: int, after: int) -> bool:
        return self.profile.blocks[after].address != self.body(before)[-1].end

    def cost(self, edge: tuple[int, int]) -> float:
        """Cycles of one execution of a block right after another."""
        if edge not in self._costs:
            before, after = edge
            cost = self._repeated(after) if before == after else self._once(before, after)
            self._costs[edge] = cost + self._misprediction(before)
        return self._costs[edge]

    def _misprediction(self, block: int) -> float:
        """Cycles an execution: a branch goes the rarer way unpredicted."""
        body = self.body(block)
        penalty = self.core().misprediction
        if not penalty or not body or body[-1].kind is not Kind.BRANCH:
            return 0.0
        ways = self._leaving.get(block, (0, 0))
        return penalty * min(ways) / max(1, sum(ways))

    def _once(self, before: int, after: int) -> float:
        core, body = self.core(), self.body(after)
        start = 0.0
        if context := self.body(before)[-_CONTEXT:]:
            _issue(core, context[:-1])
            start = core.clock
            core.issue(context[-1], self.is_taken(before, after), body[0] if body else None)
        _issue(core, body[:-1])
        return core.clock - start

    def _repeated(self, block: int) -> float:
        """A loop of one block, once its pipelines are full."""
        core, body, times = self.core(), self.body(block), []
        for _ in range(9):
            for instruction in body:
                is_last = instruction is body[-1]
                core.issue(instruction, is_last, body[0] if is_last else None)
            times.append(core.clock)
        return (times[8] - times[2]) / 6


def executed(profile: Profile, more: int = 0) -> list[float]:
    """Instructions between the readings of the clock from the first step on, less what a reading
    takes; needs no model of the core.

    Args:
        more: readings of the clock before the first step, besides those that measure its cost.
    """
    blocks = profile.blocks

    def amount(segment: Edges) -> float:
        return sum(count * blocks[after].count for (_, after), count in segment.items() if after)

    return between_readings(profile, more, amount)


def between_readings(profile: Profile, more: int, amount: Callable[[Edges], float]) -> list[float]:
    readings = profile.segments[1:_READINGS:2]
    overhead = min(map(amount, readings), default=0.0)
    return [max(0.0, amount(segment) - overhead) for segment in _measured(profile, more)]


def _measured(profile: Profile, more: int) -> Sequence[Edges]:
    return profile.segments[_READINGS + more + 1 :]


def _issue(core: Core, instructions: Sequence[Instruction]) -> None:
    for instruction in instructions:
        core.issue(instruction, False, None)

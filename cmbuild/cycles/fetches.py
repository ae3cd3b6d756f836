"""How often a run reads flash at most: what its wait states can add to the cycles of a core."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.instruction import Instruction, Kind
from cmbuild.cycles.profile import Edges

_LOADS = (Kind.LOAD, Kind.LOAD_PAIR, Kind.LOAD_MULTIPLE, Kind.LOAD_PC, Kind.TABLE_BRANCH)
_WORD, _VECTOR = 4, 16
_GATHER = re.compile(r"\[[^]]*\bq\d")


@dataclass(frozen=True, slots=True)
class Flash:
    """A board's flash, as its core reads it.

    Attributes:
        line: bytes of a fetch.
        places: addresses, from and up to.
    """

    line: int
    places: tuple[tuple[int, int], ...]

    def holds(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.places)

    def fetches(self, estimator: Estimator, segment: Edges) -> int:
        """At most: without a cache or prefetch, and with weights and activations in flash.

        A line of code is fetched once as it runs through, and again after a branch. The stack is
        in RAM.
        """
        loads = {after: self._loads(estimator.body(after)) for _, after in segment}
        return sum(
            count * (self._lines(estimator, before, after) + loads[after])
            for (before, after), count in segment.items()
        )

    def _lines(self, estimator: Estimator, before: int, after: int) -> int:
        body = estimator.body(after)
        if not body or not self.holds(body[0].address):
            return 0
        first, last = body[0].address // self.line, (body[-1].end - 1) // self.line
        earlier = estimator.body(before) if before else ()
        continues = bool(
            earlier
            and not estimator.is_taken(before, after)
            and (earlier[-1].end - 1) // self.line == first
        )
        return last - first + 1 - continues

    def _loads(self, body: Sequence[Instruction]) -> int:
        return sum(self._touched(each) for each in body)

    def _touched(self, instruction: Instruction) -> int:
        """Lines that a load can touch."""
        if "r13" in instruction.address_registers[:1]:
            return 0
        if instruction.kind in _LOADS:
            size = _WORD * max(1, instruction.count)
        elif instruction.vector is not None and instruction.operation.startswith("vld"):
            if _GATHER.search(instruction.text):
                return _VECTOR  # an element of one byte each
            size = _VECTOR * max(1, instruction.count)
        else:
            return 0
        return -(-(size + self.line - _WORD) // self.line)


def flash_of(board: Board) -> Flash | None:
    """None where the board's descriptor does not tell its wait states, or they are none."""
    clock = board.table(ClockTable)
    if clock is None or not clock.wait_states or clock.line is None:
        return None
    regions = board.regions.values()
    places = tuple((each.origin, each.end) for each in regions if each.kind is Memory.FLASH)
    return Flash(clock.line, places)

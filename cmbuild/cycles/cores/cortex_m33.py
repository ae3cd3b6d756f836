"""Cortex-M33: in order, one instruction a cycle, some 16-bit branches and IT folded into the one
before.

From measurements in jnk0le/random, "pipeline cortex-m33", and Arm's Cortex-M33 Software
Optimization notes in its Technical Reference Manual.
"""

from __future__ import annotations

from cmbuild.cycles.core import Core, Evidence, refill_is_split
from cmbuild.cycles.instruction import Instruction, Kind

_DIVISION = 6
_STORES = (Kind.STORE, Kind.STORE_PAIR, Kind.STORE_MULTIPLE)
_UNFOLDABLE = (Kind.BRANCH, Kind.CALL, Kind.BRANCH_REGISTER, Kind.POP_PC)


class CortexM33(Core):
    evidence = Evidence(5, "7 published figures: -0.4 to +3.8 %")

    def __init__(self) -> None:
        super().__init__()
        self._ready: dict[str, float] = {}
        self._ready_to_add: dict[str, float] = {}  # as an addend or as data to store
        self._previous: Instruction | None = None
        self._is_folded = False

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        before, kind = self._previous, instruction.kind
        can_fold = (
            before is not None
            and not (before.is_wide or instruction.is_wide or self._is_folded)
            and before.kind not in _UNFOLDABLE
        )
        self._previous = instruction
        if kind in (Kind.BRANCH, Kind.IT) and not is_taken and can_fold:
            self._is_folded = True
            return
        start = self._start(instruction)
        cycles, latency, addend_latency = self._times(instruction)
        if kind is Kind.BRANCH and is_taken:
            is_early = can_fold and before is not None and not before.sets_flags
            cycles = (1 if is_early else 2) + refill_is_split(is_taken, following)
        elif kind in (Kind.CALL, Kind.BRANCH_REGISTER):
            cycles += refill_is_split(is_taken, following)
        for register in instruction.writes:
            is_base = register in instruction.base and kind in (Kind.LOAD, Kind.STORE)
            self._ready[register] = start + (1 if is_base else latency)
            self._ready_to_add[register] = start + addend_latency
        self.clock = start + cycles
        self._is_folded = False

    def _start(self, instruction: Instruction) -> float:
        start, stores = self.clock, instruction.kind in _STORES
        for register in instruction.address_registers:
            start = max(start, self._ready.get(register, 0))
        for register in instruction.reads:
            late = stores and register not in instruction.address_registers
            ready = self._ready_to_add if late else self._ready
            start = max(start, ready.get(register, 0))
        for register in instruction.addends:
            start = max(start, self._ready_to_add.get(register, 0))
        return start

    def _times(self, instruction: Instruction) -> tuple[int, int, int]:
        """Cycles, latency, and latency as an addend."""
        kind, count = instruction.kind, instruction.count
        is_narrow_product = instruction.operation == "muls" and not instruction.is_wide
        table = {
            Kind.LOAD: (1, 2, 1),
            Kind.LOAD_PAIR: (2, 3, 2),
            Kind.STORE_PAIR: (2, 3, 2),
            Kind.LOAD_MULTIPLE: (count, count + 1, count),
            Kind.STORE_MULTIPLE: (count, count + 1, count),
            Kind.MULTIPLY: (2 if is_narrow_product else 1, 2, 1),
            Kind.ACCUMULATE: (1, 2, 1),
            Kind.EXTEND_ADD: (1, 2, 1),
            Kind.PACKED: (1, 2, 2),
            Kind.VECTOR: (max(1, count), 2, 1),
            Kind.ALU: (1, 2 if instruction.is_shifted else 1, 1),
            Kind.POP_PC: (count + 3, 1, 1),
            Kind.LOAD_PC: (4, 1, 1),
            Kind.DIVIDE: (_DIVISION, 1, 1),
            Kind.CALL: (2, 1, 1),
            Kind.BRANCH_REGISTER: (3, 1, 1),
            Kind.TABLE_BRANCH: (5, 1, 1),
        }
        return table.get(kind, (1, 1, 1))


MODEL = CortexM33

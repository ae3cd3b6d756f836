"""Cortex-M4: three stages, loads that overlap.

Cortex-M4 Technical Reference Manual, "Instruction set summary" and "Load/store
timings"; what these leave open is from measurements in jnk0le/random, "pipeline cortex-m3". One of
them: fetching falls behind if three wide instructions off a word follow a transfer of more than one
cycle.
"""

from __future__ import annotations

from typing import ClassVar

from cmbuild.cycles.core import Core, Evidence, refill_is_split
from cmbuild.cycles.instruction import Instruction, Kind

_REFILL = 1
_DIVISION = 6  # 2 to 12, depending on the operands
_FLOAT = {"vdiv": 14, "vsqrt": 14, "vfma": 3, "vfms": 3, "vfnma": 3, "vfnms": 3}
_FLOAT |= {"vmla": 3, "vmls": 3, "vnmla": 3, "vnmls": 3}
_LONG = (
    *(Kind.LOAD, Kind.LOAD_PAIR, Kind.LOAD_MULTIPLE, Kind.STORE_PAIR, Kind.STORE_MULTIPLE),
    Kind.DIVIDE,
)
"""The last of several loads that overlap takes longer than a cycle, too."""
_SPLIT = 3
"""Wide instructions off a word, in turn, until one of them is late."""
_NO_ADDRESS = (
    *(Kind.LOAD, Kind.STORE, Kind.BRANCH, Kind.LOAD_MULTIPLE, Kind.POP_PC),
    *(Kind.BRANCH_REGISTER, Kind.CALL),
)


class CortexM4(Core):
    """
    Attributes:
        fetches_late: whether wide instructions off a word can be late.
    """

    evidence = Evidence(3, "19 published figures: -2.0 to +2.6 %")
    fetches_late: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._previous: Instruction | None = None
        self._splits: list[int] = []  # wide instructions off a word since each long one, in turn

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        self.clock += self._cycles(instruction, is_taken, following)
        self.clock += self._late(instruction) if self.fetches_late else 0
        if is_taken:
            self._splits.clear()
        self._previous = instruction

    def _late(self, instruction: Instruction) -> int:
        """Cycles that fetching is behind."""
        is_load = instruction.kind in (Kind.LOAD, Kind.LOAD_PAIR)
        if is_load and self._splits and not self._splits[-1]:
            self._splits.pop()  # overlaps with the one before
        is_split = instruction.is_wide and instruction.address & 2 != 0
        counts = [count + 1 for count in self._splits] if is_split else []
        self._splits = [count for count in counts if count < _SPLIT]
        late = len(counts) - len(self._splits)
        if instruction.kind in _LONG:
            self._splits.append(0)
        return late

    def _cycles(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> int:
        kind, count = instruction.kind, instruction.count
        refill = _REFILL + refill_is_split(is_taken, following)
        if kind in (Kind.LOAD, Kind.STORE):
            return self._transfer(instruction)
        if kind in (Kind.MULTIPLY, Kind.ACCUMULATE):
            return self._multiplication(instruction)
        if kind is Kind.VECTOR:
            return _float(instruction)
        if kind is Kind.IT:
            return self._folded()
        fixed = {
            Kind.LOAD_PAIR: 3,
            Kind.STORE_PAIR: 3,
            Kind.LOAD_MULTIPLE: 1 + count,
            Kind.STORE_MULTIPLE: 1 + count,
            Kind.POP_PC: 3 + count + _REFILL,
            Kind.LOAD_PC: 5,
            Kind.DIVIDE: _DIVISION,
            Kind.BRANCH: 1 + refill if is_taken else 1,
            Kind.CALL: 1 + refill,
            Kind.BRANCH_REGISTER: 2 + refill,
            Kind.TABLE_BRANCH: 5 + _REFILL,
        }
        return fixed.get(kind, 1)

    def _folded(self) -> int:
        before = self._previous
        is_narrow = before is not None and not before.is_wide
        return 0 if is_narrow and before is not None and before.kind is not Kind.BRANCH else 1

    def _overlaps(self, instruction: Instruction) -> bool:
        """Whether the address phase runs beside the data phase of the load before it."""
        before = self._previous
        if before is None or before.kind is not Kind.LOAD:
            return False
        if set(before.writes) & set(instruction.address_registers):
            return False
        shares_base = bool(set(before.base) & set(instruction.address_registers[:1]))
        return not shares_base

    def _transfer(self, instruction: Instruction) -> int:
        overlaps, before = self._overlaps(instruction), self._previous
        if instruction.kind is Kind.LOAD:
            cycles = 1 if overlaps else 2
        else:
            cycles = (2 if instruction.has_register_offset else 1) - overlaps
        is_computed = before is not None and before.kind not in _NO_ADDRESS
        if is_computed and before and set(before.writes) & set(instruction.address_registers):
            cycles += 1
        return cycles

    def _multiplication(self, instruction: Instruction) -> int:
        return 1


def _float(instruction: Instruction) -> int:
    """Cortex-M4 Technical Reference Manual, "FPU instruction set"."""
    vector = instruction.vector
    assert vector is not None
    if vector.is_multiple:
        return 1 + instruction.count
    if vector.operation.startswith(("vldr", "vstr")):
        return 2
    return _FLOAT.get(vector.operation.partition(".")[0], 1)


MODEL = CortexM4

"""Cortex-M7: two instructions a cycle, in order, with an early and a late ALU.

From measurements in jnk0le/random, "pipeline cortex-m7", and the AES ciphers of
jnk0le/cortexm-AES. Memory is two banks, of even and odd words; two loads are a pair only where one
base register shows that their banks differ.
"""

from __future__ import annotations

import math
import re
from enum import Enum, auto

from cmbuild.cycles.core import Core, Evidence
from cmbuild.cycles.instruction import Instruction, Kind

_SIMPLE = re.compile(r"(add|sub|mov|mvn|adr|lsl|lsr|asr|ror|rev)")
_BIT_FIELDS = re.compile(r"([su]bfx|bf[ic]|rev|rbit|pkh|[su]xta)")
_PACKED = re.compile(r"([su]xt|[su]bfx|bf[ic]|rev|clz|rbit|pkh)")
_SIGNED_LOAD = re.compile(r"ldrs?[bh]")
_OFFSET = re.compile(r"\[[^],]+, #(-?\d+)\]")
_DIVISION = 6
_BANKS = 8
"""Bytes after which the banks of memory repeat."""

_STORES = (Kind.STORE, Kind.STORE_PAIR, Kind.STORE_MULTIPLE)
_PRODUCTS = (Kind.MULTIPLY, Kind.ACCUMULATE)
_ALONE = (
    *(Kind.LOAD_PAIR, Kind.STORE_PAIR, Kind.LOAD_MULTIPLE, Kind.STORE_MULTIPLE, Kind.POP_PC),
    *(Kind.DIVIDE, Kind.TABLE_BRANCH, Kind.LOAD_PC),
)


class _Unit(Enum):
    """A unit that only one instruction of a pair can use."""

    SHIFTER = auto()
    PACKED = auto()
    MULTIPLIER = auto()
    STORE = auto()
    OTHER = auto()


class CortexM7(Core):
    evidence = Evidence(10, "10 published figures: ciphers 0.0 to +0.7 %, key schedules to +9 %")
    misprediction = 7

    def __init__(self) -> None:
        super().__init__()
        self._second = False  # the next instruction may be the second of a pair
        self._unit = _Unit.OTHER  # the first instruction's
        self._first_moves_bits = False
        self._late: dict[str, float] = {}
        self._early: dict[str, float] = {}
        self._addend: dict[str, float] = {}
        self._factor: dict[str, float] = {}
        self._load: Instruction | None = None  # issued just before

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        kind = instruction.kind
        moves_bits = bool(_BIT_FIELDS.match(instruction.operation))
        needs_early = instruction.is_shifted or moves_bits or kind is Kind.EXTEND_ADD
        need = self._need(instruction, moves_bits, needs_early)
        if need > self.clock:
            self.clock, self._second, self._unit = float(math.ceil(need)), False, _Unit.OTHER
        if kind in _ALONE or (instruction.vector is not None and instruction.vector.is_multiple):
            self._issue_alone(instruction)
            self._load = None
            return
        is_packed = kind in (Kind.PACKED, Kind.EXTEND_ADD) or bool(
            _PACKED.match(instruction.operation)
        )
        unit = self._unit_of(instruction, is_packed)
        if self._second and self._conflicts(unit, instruction, moves_bits, is_packed):
            self.clock, self._second = self.clock + 1, False
        self._write(instruction, needs_early, is_packed)
        self._load = instruction if kind is Kind.LOAD else None
        if self._second:
            self.clock, self._second, self._unit = self.clock + 1, False, _Unit.OTHER
        else:
            self._second, self._unit = True, unit
            self._first_moves_bits = moves_bits or kind is Kind.EXTEND_ADD
        if is_taken and kind in (Kind.BRANCH, Kind.CALL, Kind.BRANCH_REGISTER):
            # The target begins a pair, so half a pair is lost on average.
            if self._second:
                self.clock, self._second = self.clock + 0.5, False
            self._unit = _Unit.OTHER

    def _need(self, instruction: Instruction, moves_bits: bool, needs_early: bool) -> float:
        kind, need = instruction.kind, 0.0
        for register in instruction.address_registers:
            need = max(need, self._early.get(register, 0))
        is_early_kind = kind in (Kind.DIVIDE, Kind.BRANCH_REGISTER)
        for register in instruction.reads:
            is_last = register == instruction.reads[-1]
            if kind in _STORES:
                need = max(need, self._late.get(register, 0) - 1)
            elif kind in _PRODUCTS:
                need = max(need, self._factor.get(register, 0))
            elif is_early_kind or (needs_early and (is_last or moves_bits)):
                need = max(need, self._early.get(register, 0))
            else:
                need = max(need, self._late.get(register, 0))
        for register in instruction.addends:
            need = max(need, self._addend.get(register, 0))
        return need

    def _issue_alone(self, instruction: Instruction) -> None:
        if self._second:
            self.clock, self._second = self.clock + 1, False
        start, kind = self.clock, instruction.kind
        fixed = {
            Kind.LOAD_PAIR: 1,
            Kind.STORE_PAIR: 1,
            Kind.DIVIDE: _DIVISION,
            Kind.TABLE_BRANCH: 3,
            Kind.LOAD_PC: 3,
        }
        two_a_cycle = max(1, math.ceil(instruction.count / 2)) + (kind is Kind.POP_PC)
        cycles = fixed.get(kind, two_a_cycle)
        for register in instruction.writes:
            self._late[register] = self._addend[register] = start + cycles
            self._early[register] = self._factor[register] = start + cycles + 1
        self.clock, self._unit = start + cycles, _Unit.OTHER

    def _unit_of(self, instruction: Instruction, is_packed: bool) -> _Unit:
        if instruction.is_shifted:
            return _Unit.SHIFTER
        if is_packed:
            return _Unit.PACKED
        if instruction.kind in _PRODUCTS:
            return _Unit.MULTIPLIER
        return _Unit.STORE if instruction.kind is Kind.STORE else _Unit.OTHER

    def _conflicts(
        self, unit: _Unit, instruction: Instruction, moves_bits: bool, is_packed: bool
    ) -> bool:
        first, kind = self._unit, instruction.kind
        if is_packed or (kind is Kind.LOAD and self._shares_bank(instruction)):
            return True
        if first is _Unit.MULTIPLIER:
            return kind in _PRODUCTS or kind is Kind.STORE
        if first is _Unit.STORE:
            return kind in _PRODUCTS or kind is Kind.STORE
        if first is _Unit.SHIFTER:
            return instruction.is_shifted or moves_bits or kind is Kind.EXTEND_ADD
        if first is _Unit.PACKED:
            return instruction.is_shifted and self._first_moves_bits
        return False

    def _shares_bank(self, load: Instruction) -> bool:
        """Whether it may read the bank that a load just before it reads."""
        before = self._load
        if before is None:
            return False
        if before.has_register_offset or load.has_register_offset:
            return True
        if before.address_registers[:1] != load.address_registers[:1]:
            return True
        return (_offset(load) - _offset(before)) % _BANKS < _BANKS // 2

    def _write(self, instruction: Instruction, needs_early: bool, is_packed: bool) -> None:
        kind, name = instruction.kind, instruction.operation
        late, early, addend = 1, 2, 1
        if kind is Kind.LOAD:
            late, early, addend = (2, 3, 2) if _SIGNED_LOAD.match(name) else (1, 2, 1)
        elif kind in _PRODUCTS:
            late, early, addend = 2, 2, 1
        elif kind in (Kind.ALU, Kind.IT, Kind.NOP) and not instruction.is_shifted:
            if _SIMPLE.match(name):
                late, early = (1 if self._second else 0), 1
            elif not needs_early:
                early = 1
        elif kind is Kind.ALU and not needs_early:
            early = 1
        for register in instruction.writes:
            is_base = register in instruction.base
            self._late[register] = self.clock + (0 if is_base else late)
            self._early[register] = self.clock + (1 if is_base else early)
            self._addend[register] = self.clock + (0 if is_base else addend)
            factor = 2 if kind is Kind.LOAD else late  # products take no load of the last cycle
            self._factor[register] = self.clock + (0 if is_base else factor)


def _offset(load: Instruction) -> int:
    """From the base register to what is read."""
    offset = _OFFSET.search(load.text)
    return int(offset[1]) if offset else 0


MODEL = CortexM7

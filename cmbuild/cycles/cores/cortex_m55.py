"""Cortex-M55: in order, some 16-bit pairs; MVE instructions take two cycles of one of its pipes and
overlap with those of another.

Pipe occupancy and latencies from LLVM's scheduling model of the core (ARMScheduleM55.td).
"""

from __future__ import annotations

import math
import re

from cmbuild.cycles.core import Core, Evidence
from cmbuild.cycles.instruction import Instruction, Kind, Pipe

_REFILL = 2
_DIVISION = 6
_PAIRABLE = re.compile(r"(adds?|subs?|movs?|uxt[bh]|sxt[bh]|nop)")
_LATE_ALU = re.compile(r"([su]bfx|clz|asrl|lsll|sqrshr|csel)")
_STORES = (Kind.STORE, Kind.STORE_PAIR, Kind.STORE_MULTIPLE)
_UNFOLDABLE = (Kind.BRANCH, Kind.CALL, Kind.BRANCH_REGISTER, Kind.POP_PC, Kind.LOOP_END)
_LATE = (Kind.MULTIPLY, Kind.ACCUMULATE, Kind.PACKED, Kind.EXTEND_ADD)


class CortexM55(Core):
    evidence = Evidence(
        None, "no published measurements; 0 to 15 % fewer cycles than LLVM's model in hot loops"
    )
    architecture = "armv8.1-m.main"

    def __init__(self) -> None:
        super().__init__()
        self._ready: dict[str, float] = {}
        self._ready_to_add: dict[str, float] = {}
        self._free = dict.fromkeys(Pipe, 0.0)
        self._previous: Instruction | None = None
        self._is_paired = False

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        if instruction.kind is Kind.LOOP_END:
            # A branch of a low-overhead loop costs nothing.
            self.clock += 0 if is_taken else 1
            self._previous = None
        elif instruction.kind is Kind.VECTOR:
            self._issue_vector(instruction)
            self._previous, self._is_paired = None, False
        elif self._pairs(instruction):
            self._is_paired = True
            for register in instruction.writes:
                self._ready[register] = self._ready_to_add[register] = self.clock
            if instruction.kind is Kind.BRANCH and is_taken:
                self.clock += _REFILL
            self._previous = instruction
        else:
            self._issue_single(instruction, is_taken)
            self._previous, self._is_paired = instruction, False

    def _issue_vector(self, instruction: Instruction) -> None:
        vector = instruction.vector
        assert vector is not None
        start = self.clock
        for register in (*instruction.reads, *instruction.address_registers):
            start = max(start, self._ready.get(register, 0))
        for register in instruction.addends:
            start = max(start, self._ready_to_add.get(register, 0))
        start = max(start, self._free[vector.pipe])
        beats, latency = vector.beats, vector.latency
        if vector.is_multiple:
            beats, latency = max(1, (instruction.count + 1) // 2), 2
        self._free[vector.pipe] = start + beats
        for register in instruction.writes:
            is_base = register in instruction.base
            self._ready[register] = start + (1 if is_base else latency)
            self._ready_to_add[register] = start + (1 if is_base else max(1, min(latency, 2)))
        self.clock = start + (beats if vector.is_multiple else 1)

    def _need(self, instruction: Instruction) -> float:
        need, stores = 0.0, instruction.kind in _STORES
        for register in instruction.address_registers:
            need = max(need, self._ready.get(register, 0))
        for register in instruction.reads:
            late = stores and register not in instruction.address_registers
            ready = self._ready_to_add if late else self._ready
            need = max(need, ready.get(register, 0))
        for register in instruction.addends:
            need = max(need, self._ready_to_add.get(register, 0))
        return need

    def _pairs(self, instruction: Instruction) -> bool:
        """Whether it goes with the instruction before it."""
        before, kind = self._previous, instruction.kind
        if before is None or before.is_wide or instruction.is_wide or self._is_paired:
            return False
        if before.kind in _UNFOLDABLE:
            return False
        if kind is Kind.BRANCH:
            return True
        adds_two = len(instruction.reads) > 1 and instruction.operation[:3] in ("add", "sub")
        is_simple = kind is Kind.ALU and bool(_PAIRABLE.fullmatch(instruction.operation))
        is_pairable = kind in (Kind.IT, Kind.NOP) or (is_simple and not adds_two)
        return is_pairable and self._need(instruction) <= self.clock - 1

    def _issue_single(self, instruction: Instruction, is_taken: bool) -> None:
        kind, count = instruction.kind, instruction.count
        start = max(self.clock, self._need(instruction))
        cycles, latency = 1, 1
        if kind in (Kind.LOAD, Kind.LOAD_PAIR, Kind.STORE_PAIR, *_LATE):
            latency = 2
        elif kind in (Kind.LOAD_MULTIPLE, Kind.STORE_MULTIPLE):
            cycles = max(1, math.ceil(count / 2))
            latency = cycles + 1
        elif kind is Kind.ALU:
            is_late = instruction.is_shifted or bool(_LATE_ALU.match(instruction.operation))
            latency = 2 if is_late else 1
        else:
            cycles = {
                Kind.POP_PC: math.ceil(count / 2) + 1 + _REFILL,
                Kind.LOAD_PC: 2 + _REFILL,
                Kind.DIVIDE: _DIVISION,
                Kind.BRANCH: 1 + (_REFILL if is_taken else 0),
                Kind.CALL: 1 + _REFILL,
                Kind.BRANCH_REGISTER: 1 + _REFILL,
                Kind.TABLE_BRANCH: 3 + _REFILL,
                Kind.LOOP_START: 2,
            }.get(kind, 1)
        for register in instruction.writes:
            is_base = register in instruction.base and kind in (Kind.LOAD, Kind.STORE)
            self._ready[register] = start + (1 if is_base else latency)
            self._ready_to_add[register] = start + 1
        self.clock = start + cycles


MODEL = CortexM55

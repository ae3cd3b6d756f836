"""Cortex-M0+: a fixed time for each instruction.

Cortex-M0+ Technical Reference Manual, "Instruction set summary", with the single-cycle multiplier.
"""

from __future__ import annotations

from cmbuild.cycles.core import Core, Evidence
from cmbuild.cycles.instruction import Instruction, Kind

_CYCLES = {
    Kind.LOAD: 2,
    Kind.STORE: 2,
    Kind.CALL: 3,
    Kind.BRANCH_REGISTER: 2,
    Kind.IT: 0,
}


class CortexM0Plus(Core):
    evidence = Evidence(3, "8 figures of the Cortex-M0 with its longer branches: +0.2 to +2.8 %")
    branch = 2

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        kind = instruction.kind
        if kind is Kind.BRANCH:
            self.clock += self.branch if is_taken else 1
        elif kind in (Kind.LOAD_MULTIPLE, Kind.STORE_MULTIPLE):
            self.clock += 1 + instruction.count
        elif kind is Kind.POP_PC:
            self.clock += self.branch + instruction.count
        else:
            self.clock += _CYCLES.get(kind, 1)


MODEL = CortexM0Plus

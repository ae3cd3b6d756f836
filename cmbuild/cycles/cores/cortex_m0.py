"""Cortex-M0: as Cortex-M0+, with one more stage to refill.

Cortex-M0 Technical Reference Manual, "Instruction set summary".
"""

from __future__ import annotations

from cmbuild.cycles.cores.cortex_m0plus import CortexM0Plus
from cmbuild.cycles.instruction import Instruction, Kind


class CortexM0(CortexM0Plus):
    branch = 3

    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        super().issue(instruction, is_taken, following)
        if instruction.kind in (Kind.CALL, Kind.BRANCH_REGISTER):
            self.clock += 1


MODEL = CortexM0

"""Cortex-M3: as Cortex-M4, with a slower multiplier and loads that overlap less.

Cortex-M3 Technical Reference Manual, "Instruction set summary" and "Load/store timings".
"""

from __future__ import annotations

from cmbuild.cycles.core import Evidence
from cmbuild.cycles.cores.cortex_m4 import CortexM4
from cmbuild.cycles.instruction import Instruction, Kind


class CortexM3(CortexM4):
    evidence = Evidence(3, "16 published figures: -3.0 to +3.0 %")
    fetches_late = False  # no whole network was measured

    def _overlaps(self, instruction: Instruction) -> bool:
        before = self._previous
        updates = instruction.writes_back or (before is not None and before.writes_back)
        return not updates and super()._overlaps(instruction)

    def _multiplication(self, instruction: Instruction) -> int:
        is_accumulating = instruction.kind is Kind.ACCUMULATE
        if len(instruction.writes) == 2:
            return 5 if is_accumulating else 4
        return 2 if is_accumulating else 1


MODEL = CortexM3

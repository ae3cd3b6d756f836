"""The reference on the samples of an export, to be compared with the float model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmbuild.pipeline.stages.reference import ReferenceStage

if TYPE_CHECKING:
    from cmcompiler.frontend.vectors import Samples

_MACS = 1_000_000_000
"""Work of all samples except the first: some seconds."""


class MeasuredStage(ReferenceStage):
    """As many of an export's samples as the reference computes in some seconds, whatever a run is
    asked to run on.
    """

    endings = "-float", " against float"

    def _count(self, exported: Samples | None) -> int:
        from cmcompiler.frontend.outputs import MOST

        there = 1 if exported is None else len(exported)
        most = there if self.plan.record.states else MOST
        return max(1, min(there, most, _MACS // max(1, self.plan.record.macs)))

"""The reference on a project's labelled samples, which accuracy is measured on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmbuild.errors import UsageError
from cmbuild.pipeline.events import StepProgress, no_progress
from cmbuild.pipeline.request import Sampling
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmcompiler.frontend.sample_origin import SampleOrigin

if TYPE_CHECKING:
    from pathlib import Path

    from cmcompiler.frontend.job import SamplesRecord
    from cmcompiler.frontend.vectors import Samples


class LabelledStage(ReferenceStage):
    """All samples of a file, whatever a run is asked to run on.

    Raises:
        UsageError: the file has no labels.
    """

    def __init__(
        self,
        plan: PlanStage,
        data: Path,
        seed: int,
        folder: Path,
        progress: StepProgress = no_progress,
    ) -> None:
        super().__init__(plan, Sampling(inputs=(data,)), seed, folder, progress)
        self.name = f"{plan.name}-data"
        self.subject = f"{plan.source.name} on {data.name}"
        self._data = data

    def _origin(self, exported: SamplesRecord) -> tuple[SampleOrigin, str, int]:
        return SampleOrigin.DATA, self._data.name, len(self.samples)

    @property
    def title(self) -> str:
        return self._data.name

    @property
    def samples(self) -> Samples:
        samples = super().samples
        if samples.labels is None:
            raise UsageError(message=f"{self._data} has no array `labels`")
        return samples

"""The report of a run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.pipeline.results import RunResult

if TYPE_CHECKING:
    from rich.text import Text

    from cmbuild.pipeline.events import StepOutcome
    from cmbuild.report.documents import ResultDocument


@dataclass(frozen=True, slots=True)
class RunReport:
    """Implements Report.

    Attributes:
        by_layer: shows each step instead of the most expensive kinds of ops.
    """

    result: RunResult
    by_layer: bool = False

    @property
    def title(self) -> str:
        """Which of several runs it is."""
        return f"{self.result.model} on {self.result.board}"

    def screen(self) -> Text:
        from cmbuild.report.screen import screen

        return screen(self.result, self.by_layer)

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        from cmbuild.report.run_document import RunDocument

        check = self.result.verification
        return RunDocument.of(
            self.result,
            steps,
            verified=check.verified,
            faithful=self.result.faithfulness.faithful,
            rule=check.rule,
            samples=check.samples,
            mismatches=check.mismatches,
            first_difference=check.first,
            top=self.result.best,
        )

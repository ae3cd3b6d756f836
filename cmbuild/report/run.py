"""The report of a run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.results import RunResult

if TYPE_CHECKING:
    from rich.text import Text

    from cmbuild.pipeline.events import StepOutcome
    from cmbuild.report.documents import RunDocument


@dataclass(frozen=True, slots=True)
class RunReport:
    """Implements Report.

    Attributes:
        is_one_of_several: so that the screen has to say which.
    """

    result: RunResult
    is_one_of_several: bool = False

    def screen(self) -> Text:
        from rich.text import Text

        from cmbuild.report.screen import screen

        title = f"  {self.result.model} on {self.result.board}\n" if self.is_one_of_several else ""
        return Text(title) + screen(self.result)

    def document(self, steps: Sequence[StepOutcome]) -> RunDocument:
        from cmbuild.report.documents import RunDocument

        return RunDocument.of(self.result, steps)

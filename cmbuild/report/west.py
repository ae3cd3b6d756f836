"""A Zephyr application that was built and perhaps run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, StepDocument
from cmbuild.report.screen import shown
from cmbuild.report.text import entry
from cmbuild.zephyr.stages import WestResult

_LINES = 20


class WestDocument(ResultDocument):
    """`status` is the image's exit status, null if it was not run; `console` is its output
    without records.
    """

    verbs = ("zephyr",)
    application: str
    board: str
    status: int | None
    console: tuple[str, ...]
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]


@dataclass(frozen=True, slots=True)
class WestReport:
    """Implements Report."""

    result: WestResult

    def screen(self) -> Text:
        result = self.result
        lines = [Text(f"  {line}") for line in result.console[-_LINES:]]
        if result.status is not None:
            ended = "✓ ended well" if result.status == 0 else f"✗ ended with status {result.status}"
            lines += [Text(f"  {ended}", "green" if result.status == 0 else "red")]
        lines.append(Text(entry("image", str(shown(result.image)))))
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> WestDocument:
        result = self.result
        artifacts = {"image": str(result.image)}
        if result.log is not None:
            artifacts["log"] = str(result.log)
        return WestDocument.of(result, steps, artifacts=artifacts)

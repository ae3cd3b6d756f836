"""An application of Zephyr's that was built and perhaps run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, StepDocument
from cmbuild.report.screen import shown
from cmbuild.report.text import entry

_LINES = 20


class WestDocument(Document):
    """`status` is what the image ended with, null if it was not run; `console` has what it said
    beside records.
    """

    application: str
    board: str
    status: int | None
    console: tuple[str, ...]
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]


@dataclass(frozen=True, slots=True)
class WestReport:
    """Implements Report."""

    application: str
    board: str
    image: Path
    status: int | None = None
    console: tuple[str, ...] = ()
    log: Path | None = None

    def screen(self) -> Text:
        lines = [Text(f"  {line}") for line in self.console[-_LINES:]]
        if self.status is not None:
            ended = "✓ ended well" if self.status == 0 else f"✗ ended with status {self.status}"
            lines += [Text(f"  {ended}", "green" if self.status == 0 else "red")]
        lines.append(Text(entry("image", str(shown(self.image)))))
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> WestDocument:
        artifacts = {"image": str(self.image)}
        if self.log is not None:
            artifacts["log"] = str(self.log)
        return WestDocument(
            application=self.application,
            board=self.board,
            status=self.status,
            console=self.console,
            steps=tuple(map(StepDocument.of, steps)),
            artifacts=artifacts,
        )

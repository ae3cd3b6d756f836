"""A flashed board, or what flashing it would do, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.text import LABEL, entry
from cmbuild.results import FlashResult

FlashDocument = document_of(
    FlashResult,
    "flash",
    text="`place` is null for a dry run; `actions` are in words what was done, or would be;\n"
    "`confirmed` is the port at which the image responded, or null, and `doubt` says why.",
    method={"method": str, "dry_run": bool},
)


@dataclass(frozen=True, slots=True)
class FlashReport:
    """Implements Report."""

    result: FlashResult

    def screen(self) -> Text:
        result = self.result
        if result.place is None:
            labels = ("would", *[""] * (len(result.actions) - 1))
            # Not wrapped, so that commands can be copied.
            lines = [
                f"  {label:<{LABEL}}{action}"
                for label, action in zip(labels, result.actions, strict=True)
            ]
        else:
            lines = [entry("flashed", result.place)]
            if result.confirmed is not None:
                lines.append(entry("confirmed", f"it responded at {result.confirmed}"))
            else:
                lines.append(
                    entry("! unheard", f"not confirmed by the board's greeting: {result.doubt}")
                )
        return Text("\n".join([*lines, entry("identity", result.identity)]))

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        return FlashDocument.of(self.result, steps, dry_run=self.result.place is None)

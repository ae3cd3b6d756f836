"""A board that was flashed, or what flashing it would do, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, StepDocument
from cmbuild.report.text import LABEL, entry


class FlashDocument(Document):
    """`place` is null for a dry run; `actions` are what is done, or would be, in words;
    `confirmed` is the port at which the image greets, or null, and `doubt` says why.
    """

    model: str
    board: str
    method: str
    dry_run: bool
    actions: tuple[str, ...]
    place: str | None
    confirmed: str | None
    doubt: str | None
    identity: str
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, Path]


@dataclass(frozen=True, slots=True)
class FlashReport:
    """Implements Report.

    Attributes:
        actions: what was done, or would be.
        place: where the image went; None for a dry run.
        confirmed: the port at which it greets; None where it was not heard.
        doubt: why not.
        identity: of the image, which it greets with.
    """

    model: str
    board: str
    method: str
    actions: tuple[str, ...]
    place: str | None
    confirmed: str | None
    doubt: str | None
    identity: str
    artifacts: Mapping[str, Path]

    def screen(self) -> Text:
        if self.place is None:
            labels = ("would", *[""] * (len(self.actions) - 1))
            # Not wrapped, so that commands can be copied.
            lines = [
                f"  {label:<{LABEL}}{action}"
                for label, action in zip(labels, self.actions, strict=True)
            ]
        else:
            lines = [entry("flashed", self.place)]
            if self.confirmed is not None:
                lines.append(entry("confirmed", f"it greets at {self.confirmed}"))
            else:
                lines.append(entry("! unheard", f"not confirmed by a greeting: {self.doubt}"))
        return Text("\n".join([*lines, entry("identity", self.identity)]))

    def document(self, steps: Sequence[StepOutcome]) -> FlashDocument:
        named = ("model", "board", "method", "actions", "place", "confirmed", "doubt", "identity")
        return FlashDocument.model_validate(
            {
                **{name: getattr(self, name) for name in named},
                "dry_run": self.place is None,
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": self.artifacts,
            }
        )

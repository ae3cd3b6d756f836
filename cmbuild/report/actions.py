"""Results of commands that do something and have no figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, document_like


@dataclass(frozen=True, slots=True)
class Done:
    """Implements Report.

    Attributes:
        result: a dataclass, the RESULT of the verb's module.
        text: for people, as it is.
    """

    result: Any
    text: str = ""

    def screen(self) -> Text:
        return Text(self.text)

    def document(self, steps: Sequence[StepOutcome]) -> Document:
        kind: type = type(self.result)
        return document_like(kind).model_validate(self.result)

"""A new project, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.projects.template import NewProject
from cmbuild.report.documents import Document
from cmbuild.report.text import entry


class InitDocument(Document):
    """`cmbuild init`; `kept` are files that were there before."""

    verbs = ("init",)
    folder: Path
    model: str
    board: str
    written: tuple[Path, ...]
    kept: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class InitReport:
    """Implements Report."""

    project: NewProject

    def screen(self) -> Text:
        made = self.project
        home = "" if made.folder == Path() else f"cd {made.folder} && "
        lines = [
            *(entry("wrote", str(path)) for path in made.written),
            *(entry("kept", str(path)) for path in made.kept),
            entry("try", f"{home}cmbuild run && cmbuild check --set-budgets"),
        ]
        return Text("\n".join(lines))

    def document(self, steps: Sequence[StepOutcome]) -> InitDocument:
        return InitDocument.model_validate(self.project)

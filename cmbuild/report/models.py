"""The models of the zoo, for people and for programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.projects.project import Project
from cmbuild.report.documents import Document
from cmbuild.report.text import table
from cmbuild.text import shape
from cmcompiler.frontend.model import Task

if TYPE_CHECKING:
    from cmcompiler.zoo import ZooModel


class ModelDocument(Document):
    name: str
    summary: str
    input_shape: tuple[int, ...]
    task: Task
    dataset: str


class OwnModelDocument(Document):
    """A model of the project; `boards` are those that it has a budget for."""

    name: str
    source: str
    boards: tuple[str, ...]


class ModelsDocument(Document):
    verbs = ("models",)
    project: tuple[OwnModelDocument, ...]
    models: tuple[ModelDocument, ...]


@dataclass(frozen=True, slots=True)
class ModelsReport:
    """Implements Report."""

    models: Sequence[ZooModel]
    project: Project

    def screen(self) -> Text:
        rows = [(model.name, shape(model.input_shape), model.summary) for model in self.models]
        known = table(("model", "input", ""), rows)
        own = [(model.name, shown(model.source)) for model in self.project.models.values()]
        return Text(f"{table(('project', 'source'), own)}\n\n{known}" if own else known)

    def document(self, steps: Sequence[StepOutcome]) -> ModelsDocument:
        own = tuple(
            OwnModelDocument(name=model.name, source=model.source, boards=tuple(model.budgets))
            for model in self.project.models.values()
        )
        models = tuple(map(ModelDocument.model_validate, self.models))
        return ModelsDocument(project=own, models=models)


def shown(source: str) -> str:
    """A source as one would type it here."""
    return os.path.relpath(source) if Path(source).is_absolute() else source

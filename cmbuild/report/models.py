"""The models of the zoo, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
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


class ModelsDocument(Document):
    models: tuple[ModelDocument, ...]


@dataclass(frozen=True, slots=True)
class ModelsReport:
    """Implements Report."""

    models: Sequence[ZooModel]

    def screen(self) -> Text:
        rows = [(model.name, shape(model.input_shape), model.summary) for model in self.models]
        return Text(table(("model", "input", ""), rows))

    def document(self, steps: Sequence[StepOutcome]) -> ModelsDocument:
        return ModelsDocument.model_validate(self)

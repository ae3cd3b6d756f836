"""Documents of commands that do something and have no figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict
from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document


class CleanDocument(Document):
    """`cmbuild clean`."""

    removed: tuple[Path, ...]


class CompletionDocument(Document):
    """`cmbuild completion`."""

    shell: str
    script: str


class DebugDocument(Document):
    """`cmbuild debug`, printed once the image waits; `gdb` is the command that attaches."""

    machine: str
    address: str
    image: Path
    gdb: tuple[str, ...]


class MonitorDocument(Document):
    """`cmbuild monitor`, printed at its end."""

    port: str
    baud: int
    lines: tuple[str, ...]


class NewDocument(Document):
    """`cmbuild new board`."""

    board: str
    folder: Path
    written: tuple[Path, ...]


class SchemaDocument(Document):
    """`cmbuild schema`: a JSON Schema, whatever its keys are."""

    model_config = ConfigDict(extra="allow", frozen=True)


class WorkerDocument(Document):
    """`cmbuild worker`, printed when its scheduler has ended."""

    scheduler: str
    workers: int


@dataclass(frozen=True, slots=True)
class Done:
    """Implements Report.

    Attributes:
        text: for people, as it is.
    """

    told: Document
    text: str = ""

    def screen(self) -> Text:
        return Text(self.text)

    def document(self, steps: Sequence[StepOutcome]) -> Document:
        return self.told

"""A firmware that was built and not run, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import (
    Document,
    MemoryDocument,
    PortDocument,
    StepDocument,
    WeightsDocument,
)
from cmbuild.report.screen import memory_lines, port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import FlashUse, PortResult, RamUse, WeightsResult


class BuildDocument(Document):
    """`memory.ram.stack` is null: only a run knows how deep it gets."""

    model: str
    board: str
    target: str
    isa: str
    weights: WeightsDocument
    inputs: tuple[PortDocument, ...]
    outputs: tuple[PortDocument, ...]
    macs: int
    memory: MemoryDocument
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, Path]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Implements Report."""

    model: str
    board: str
    target: str
    isa: str
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    macs: int
    flash: FlashUse
    ram: RamUse
    artifacts: Mapping[str, Path]

    def screen(self) -> Text:
        lines = [
            *weights_lines(self.weights),
            *map(Text, port_lines(self.inputs, self.outputs)),
            *map(Text, memory_lines(self.flash, self.ram)),
            *(Text(entry(name, str(shown(path)))) for name, path in self.artifacts.items()),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> BuildDocument:
        named = ("model", "board", "target", "isa", "weights", "inputs", "outputs", "macs")
        return BuildDocument.model_validate(
            {
                **{name: getattr(self, name) for name in named},
                "memory": {"flash": self.flash, "ram": self.ram},
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": self.artifacts,
            }
        )

"""A firmware that was built and not run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
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
from cmbuild.results import BuildResult


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

    result: BuildResult

    def screen(self) -> Text:
        result = self.result
        lines = [
            *weights_lines(result.weights),
            *map(Text, port_lines(result.inputs, result.outputs)),
            *map(Text, memory_lines(result.flash, result.ram)),
            *(Text(entry(name, str(shown(path)))) for name, path in result.artifacts.items()),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> BuildDocument:
        result = self.result
        named = ("model", "board", "target", "isa", "weights", "inputs", "outputs", "macs")
        return BuildDocument.model_validate(
            {
                **{name: getattr(result, name) for name in named},
                "memory": {"flash": result.flash, "ram": result.ram},
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": result.artifacts,
            }
        )

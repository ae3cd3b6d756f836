"""Firmware that was built but not run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.accuracy import FloatUse
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, StepDocument
from cmbuild.report.floats import float_lines
from cmbuild.report.screen import memory_lines, port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import BuildResult, MemoryUse, PortResult, WeightsResult


class BuildDocument(ResultDocument):
    """`memory.ram.stack` is null: how much of the reserved stack is used is known after a run."""

    model: str
    board: str
    target: str
    isa: str
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    float: FloatUse
    macs: int
    whole_macs: int
    memory: MemoryUse
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
            *float_lines(result.float, result.has_fpu),
            *map(Text, port_lines(result.inputs, result.outputs)),
            *map(Text, memory_lines(result.memory)),
            *(Text(entry(name, str(shown(path)))) for name, path in result.artifacts.items()),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> BuildDocument:
        return BuildDocument.of(self.result, steps)

"""Firmware that was built but not run, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.pipeline.results import BuildResult
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.floats import float_lines
from cmbuild.report.mix import mix_lines
from cmbuild.report.screen import memory_lines, port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines

BuildDocument = document_of(
    BuildResult,
    "build",
    text="`memory.ram.stack` is null: how much of the reserved stack is used is known after a run.",
)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Implements Report."""

    result: BuildResult

    def screen(self) -> Text:
        result = self.result
        lines = [
            *weights_lines(result.weights),
            *float_lines(result.float, result.has_fpu),
            *(map(Text, mix_lines(result.mix)) if result.mix is not None else ()),
            *map(Text, port_lines(result.inputs, result.outputs)),
            *map(Text, memory_lines(result.memory)),
            *(Text(entry(name, str(shown(path)))) for name, path in result.artifacts.items()),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        return BuildDocument.of(self.result, steps)

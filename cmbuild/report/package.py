"""A package, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.accuracy import FloatUse
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, StepDocument
from cmbuild.report.floats import float_lines
from cmbuild.report.screen import port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import PackageResult, PortResult, WeightsResult
from cmbuild.text import plural, size


class PackageDocument(ResultDocument):
    model: str
    target: str
    isa: str
    identity: str
    samples: int
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    float: FloatUse
    constant_bytes: int
    arena_bytes: int
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]


@dataclass(frozen=True, slots=True)
class PackageReport:
    """Implements Report."""

    result: PackageResult

    def screen(self) -> Text:
        result = self.result
        lines = [
            *weights_lines(result.weights),
            *float_lines(result.float, result.has_fpu),
            *map(Text, port_lines(result.inputs, result.outputs)),
            Text(entry("flash", f"{size(result.constant_bytes)} weights")),
            Text(entry("RAM", f"{size(result.arena_bytes)} arena")),
            Text(entry("vectors", plural(result.samples, "sample"))),
            Text(entry("package", f"{shown(result.folder)}/, for {result.target} {result.isa}")),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> PackageDocument:
        return PackageDocument.of(
            self.result, steps, artifacts={"package": str(self.result.folder)}
        )

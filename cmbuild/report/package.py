"""A package, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, PortDocument, StepDocument, WeightsDocument
from cmbuild.report.screen import port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import PackageResult
from cmbuild.text import plural, size


class PackageDocument(Document):
    model: str
    target: str
    isa: str
    identity: str
    samples: int
    weights: WeightsDocument
    inputs: tuple[PortDocument, ...]
    outputs: tuple[PortDocument, ...]
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
            *map(Text, port_lines(result.inputs, result.outputs)),
            Text(entry("flash", f"{size(result.constant_bytes)} weights")),
            Text(entry("RAM", f"{size(result.arena_bytes)} arena")),
            Text(entry("vectors", plural(result.samples, "sample"))),
            Text(entry("package", f"{shown(result.folder)}/, for {result.target} {result.isa}")),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> PackageDocument:
        result = self.result
        named = ("model", "target", "isa", "identity", "samples", "weights", "inputs", "outputs")
        sizes = ("constant_bytes", "arena_bytes")
        return PackageDocument.model_validate(
            {
                **{name: getattr(result, name) for name in (*named, *sizes)},
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": {"package": str(result.folder)},
            }
        )

"""What an export gave, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, StepDocument, WeightsDocument
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import ExportResult, WeightsResult
from cmbuild.text import plural, shape, size

_FLOATS = 5  # operators in float that are named


class FloatOperatorDocument(Document):
    """An operator that stayed in float."""

    node: str
    operator: str
    reason: str


class ExportDocument(Document):
    model: str
    target: str
    seed: int
    weights: WeightsDocument
    float_operators: tuple[FloatOperatorDocument, ...]
    versions: dict[str, str]
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Implements Report."""

    result: ExportResult

    def screen(self) -> Text:
        record, program = self.result.record, self.result.program
        lines = [
            Text(entry("model", f"{record.model} for {record.target}")),
            *weights_lines(WeightsResult(record.weights.source.value, record.weights.detail)),
            *(Text(entry("input", f"{i.name} {i.dtype} {shape(i.shape)}")) for i in record.inputs),
            Text(
                entry(
                    "ranges",
                    f"seen on {plural(record.calibration.samples, 'sample')}: "
                    f"{record.calibration.detail}",
                )
            ),
        ]
        for left in record.float_operators[:_FLOATS]:
            lines.append(Text(entry("in float", f"{left.operator}: {left.reason}"), "yellow"))
        if more := len(record.float_operators) - _FLOATS:
            lines += [Text(entry("", f"and {more} more"))] if more > 0 else []
        lines.append(Text(entry("program", f"{program}, {size(program.stat().st_size)}")))
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ExportDocument:
        record = self.result.record
        return ExportDocument(
            model=record.model,
            target=record.target,
            seed=record.seed,
            weights=WeightsDocument(
                source=record.weights.source.value, detail=record.weights.detail
            ),
            float_operators=tuple(
                FloatOperatorDocument(node=left.node, operator=left.operator, reason=left.reason)
                for left in record.float_operators
            ),
            versions=record.versions,
            steps=tuple(map(StepDocument.of, steps)),
            artifacts={"program": str(self.result.program), "samples": str(self.result.samples)},
        )

"""The result of an export, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.display.mixture import MixResult
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, StepDocument
from cmbuild.report.floats import lacking_lines
from cmbuild.report.mix import mix_lines
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import ExportResult, WeightsResult
from cmbuild.text import plural, shape, size
from cmcompiler.frontend.job import CalibrationRecord
from cmcompiler.frontend.quantized import FloatOperator

_FLOATS = 5  # float operators to name


def refinements(calibration: CalibrationRecord) -> Iterator[str]:
    """`bias correction: SNR 38.2 dB → 40.3 dB`."""
    for step in calibration.refinements:
        yield f"{step.name}: SNR {step.before_db:.1f} dB → {step.snr_db:.1f} dB"


class ExportDocument(ResultDocument):
    verbs = ("export",)
    model: str
    target: str
    seed: int
    weights: WeightsResult
    lacking: tuple[str, ...]
    calibration: CalibrationRecord
    float_operators: tuple[FloatOperator, ...]
    versions: dict[str, str]
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]
    mix: MixResult | None = None


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Implements Report."""

    result: ExportResult

    def screen(self) -> Text:
        record, program = self.result.record, self.result.program
        lines = [
            Text(entry("model", f"{record.model} for {record.target}")),
            *weights_lines(self.result.weights),
            *(Text(entry("input", f"{i.name} {i.dtype} {shape(i.shape)}")) for i in record.inputs),
            Text(
                entry(
                    "ranges",
                    f"seen on {plural(record.calibration.samples, 'sample')}: "
                    f"{record.calibration.detail}",
                )
            ),
            *(Text(entry("refined", each)) for each in refinements(record.calibration)),
        ]
        for left in record.float_operators[:_FLOATS]:
            site = record.call_sites.get(left.node)
            place = f" at {Path(site.file).name}:{site.line}" if site and site.file else ""
            lines.append(
                Text(entry("in float", f"{left.operator}{place}: {left.reason}"), "yellow")
            )
        if more := len(record.float_operators) - _FLOATS:
            lines += [Text(entry("", f"and {more} more"))] if more > 0 else []
        lines += map(Text, lacking_lines(record.lacking))
        if self.result.mix is not None:
            lines += map(Text, mix_lines(self.result.mix))
        lines.append(Text(entry("program", f"{program}, {size(program.stat().st_size)}")))
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ExportDocument:
        result = self.result
        artifacts = {"program": str(result.program), "samples": str(result.samples)}
        return ExportDocument.of(
            result.record, steps, weights=result.weights, artifacts=artifacts, mix=result.mix
        )

"""A package, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.packaging.footprint import Footprint
from cmbuild.pipeline.events import StepOutcome
from cmbuild.pipeline.results import PackageResult
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.floats import float_lines
from cmbuild.report.mix import mix_lines
from cmbuild.report.screen import port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.text import plural, size

PackageDocument = document_of(
    PackageResult, "package", types=[Footprint], folder={"artifacts": dict[str, str]}
)


@dataclass(frozen=True, slots=True)
class PackageReport:
    """Implements Report."""

    result: PackageResult

    def screen(self) -> Text:
        result = self.result
        lines = [
            *weights_lines(result.weights),
            *float_lines(result.float, result.has_fpu),
            *(map(Text, mix_lines(result.mix)) if result.mix is not None else ()),
            *map(Text, port_lines(result.inputs, result.outputs)),
            *map(Text, _footprint_lines(result.footprint)),
            Text(entry("vectors", plural(result.samples, "sample"))),
            Text(entry("package", f"{shown(result.folder)}/, for {result.target} {result.isa}")),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        return PackageDocument.of(
            self.result, steps, artifacts={"package": str(self.result.folder)}
        )


def _footprint_lines(footprint: Footprint) -> Iterator[str]:
    weights, arena = size(footprint.weights), size(footprint.arena)
    if footprint.code is None:
        yield entry("flash", f"{weights} weights; code {footprint.compiled}")
    else:
        yield entry("flash", f"{weights} weights, {size(footprint.code)} code")
        yield entry("code", footprint.compiled)
    fed = {"whole": "inputs whole", "rows": "inputs row by row"}[footprint.feed]
    state = f", {size(footprint.state)} of it state" if footprint.state else ""
    static = f", {size(footprint.static)} static" if footprint.static else ""
    yield entry("RAM", f"{arena} arena ({fed}){state}{static}")
    if footprint.rows_arena is not None:
        yield entry("", f"{size(footprint.rows_arena)} arena with --feed rows")
    if footprint.stack is None:
        yield entry("stack", "not known; `cmbuild run` with the same options measures it")
    else:
        used, machine = size(footprint.stack.bytes), footprint.stack.machine
        yield entry("stack", f"{used} at most, measured on {machine}")

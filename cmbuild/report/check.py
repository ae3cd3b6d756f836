"""The results of a check, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.projects.check import CheckedUnit, Finding
from cmbuild.projects.figures import RunFigures
from cmbuild.report import text
from cmbuild.report.documents import Document, StepDocument
from cmbuild.report.screen import BAD, FAINT, GOOD
from cmbuild.text import percent


class LimitDocument(Document):
    """A limit; `value` is null if it was not measured, `excess` if the value is within it."""

    metric: str
    unit: str
    value: int | float | None
    limit: int | float
    excess: int | float | None
    passed: bool
    detail: str | None


class UnitDocument(Document):
    """A model on a board; `figures` is null if it did not run."""

    model: str
    board: str
    passed: bool
    failure: str | None
    limits: tuple[LimitDocument, ...]
    figures: RunFigures | None


class CheckDocument(Document):
    """`cmbuild check`."""

    verbs = ("check",)
    units: tuple[UnitDocument, ...]
    steps: tuple[StepDocument, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Implements Report."""

    units: Sequence[CheckedUnit]

    def screen(self) -> Text:
        return Text("\n\n").join(Text("\n").join(_lines(each)) for each in self.units)

    def document(self, steps: Sequence[StepOutcome]) -> CheckDocument:
        return CheckDocument(
            units=tuple(map(_unit, self.units)), steps=tuple(map(StepDocument.of, steps))
        )


def _lines(unit: CheckedUnit) -> Iterator[Text]:
    """`✓ kws on rp2350`, and a line for each limit."""
    mark = ("✓", GOOD) if unit.is_fine else ("✗", BAD)
    yield Text.assemble("  ", mark, f" {unit.unit.title}", *(_no_budget(unit)))
    if unit.failure is not None:
        yield Text(text.indented(unit.failure, 6), BAD)
    for finding in unit.findings:
        yield _limit(finding)
        if finding.problem is not None and finding.detail is not None:
            yield Text(text.indented(finding.detail, 8), BAD)


def _no_budget(unit: CheckedUnit) -> list[tuple[str, str]]:
    return [] if unit.unit.budget is not None else [("  verified only: no budget", FAINT)]


def _limit(finding: Finding) -> Text:
    """`flash             42.5 KB  of 64 KB         66 %`"""
    metric = finding.metric
    value = "-" if finding.value is None else metric.written(finding.value)
    word = "≥" if metric.is_least else "of"
    indent, name, room = (6, 14, 12) if text.width() >= text.FEW_COLUMNS else (4, 13, 9)
    line = Text(
        f"{'':<{indent}}{metric.name:<{name}}{value:>{room}}"
        f"  {word:>2} {metric.written(finding.limit):<{room}}"
    )
    share = ""
    if not metric.is_least and finding.value is not None and finding.limit:
        share = percent(finding.value / finding.limit)
    if len(line) + 10 <= text.width():
        line.append(f"{share:>10}", FAINT)
    if finding.problem is not None:
        problem = f"  ✗ {finding.problem}"
        if len(line) + len(problem) > text.width():
            line.rstrip()
            problem = "\n" + text.indented(problem.strip(), indent + 2)
        line.append(problem, BAD)
    line.rstrip()
    return line


def _unit(each: CheckedUnit) -> UnitDocument:
    return UnitDocument(
        model=each.unit.model,
        board=each.unit.board,
        passed=each.is_fine,
        failure=each.failure,
        limits=tuple(
            LimitDocument(
                metric=finding.metric.name,
                unit=finding.metric.unit,
                value=finding.value,
                limit=finding.limit,
                excess=finding.excess,
                passed=finding.problem is None,
                detail=finding.detail,
            )
            for finding in each.findings
        ),
        figures=each.figures,
    )

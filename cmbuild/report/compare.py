"""A comparison of runs, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.pipeline.events import StepOutcome
from cmbuild.projects.comparison import Change, OpChange, RunChange, SideBySide
from cmbuild.report import text
from cmbuild.report.documents import Document, StepDocument
from cmbuild.report.screen import BAD, FAINT, GOOD
from cmbuild.text import count

_OPS = 12


class ChangeDocument(Document):
    """A metric; null where it was not measured."""

    metric: str
    unit: str
    before: int | float | None
    after: int | float | None
    threshold: str | None
    excess: int | float | None
    passed: bool


class OpChangeDocument(Document):
    """Instructions of all kernel calls of a title; null where there is none."""

    title: str
    before: int | None
    after: int | None


class RunChangeDocument(Document):
    """A model on a board, before and after."""

    title: str
    metrics: tuple[ChangeDocument, ...]
    ops: tuple[OpChangeDocument, ...]


class CompareDocument(Document):
    """`cmbuild compare`."""

    verbs = ("compare",)
    before: str
    after: str
    runs: tuple[RunChangeDocument, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    steps: tuple[StepDocument, ...]


@dataclass(frozen=True, slots=True)
class CompareReport:
    """Implements Report."""

    comparison: SideBySide

    def screen(self) -> Text:
        comparison = self.comparison
        parts = [Text("\n").join(_lines(comparison, run)) for run in comparison.runs]
        for word, titles in (("before", comparison.removed), ("after", comparison.added)):
            if titles:
                parts.append(Text(text.entry(f"only {word}", ", ".join(titles))))
        for side in (comparison.before, comparison.after):
            for name, reason in side.failures.items():
                parts.append(Text(text.indented(f"✗ {name} in {side.title}: {reason}", 2), BAD))
        return Text("\n\n").join(parts)

    def document(self, steps: Sequence[StepOutcome]) -> CompareDocument:
        comparison = self.comparison
        return CompareDocument(
            before=comparison.before.title,
            after=comparison.after.title,
            runs=tuple(map(_run, comparison.runs)),
            removed=comparison.removed,
            added=comparison.added,
            steps=tuple(map(StepDocument.of, steps)),
        )


_DIFFERENCE = 12  # columns
_LEAST_VALUE = 9


def _lines(comparison: SideBySide, run: RunChange) -> Iterator[Text]:
    room = _room()
    before, after = (
        text.fit(side.title, room - 1) for side in (comparison.before, comparison.after)
    )
    titles = (f"{before:>{room}}{after:>{room}}", FAINT)
    name = _names(24, 2)
    yield Text.assemble(f"  {text.fit(run.title, name):<{name}}", titles)
    for change in run.changes:
        if change.before is not None or change.after is not None or change.problem is not None:
            yield _metric(change)
    changed = [op for op in run.ops if op.change]
    if changed:
        yield Text("    instructions by op", FAINT)
    for op in changed[:_OPS]:
        yield _op(op)
    if more := changed[_OPS:]:
        yield Text(f"      {len(more)} more: {sum(op.change for op in more):+,}")


def _room() -> int:
    """Columns of a value, beside names and the difference."""
    return max(
        _LEAST_VALUE if text.width() < text.FEW_COLUMNS else 11, min(36, (text.width() - 40) // 2)
    )


def _names(most: int, indent: int) -> int:
    """Columns of a name: what values and the difference leave of a narrow terminal."""
    return max(6, min(most, text.width() - indent - 2 * _room() - _DIFFERENCE))


def _metric(change: Change) -> Text:
    metric, room = change.metric, _room()
    values = [
        "-" if value is None else metric.written(value) for value in (change.before, change.after)
    ]
    name = _names(22, 4)
    title = text.fit(metric.name, name - (len(values[0]) >= room))
    line = Text(f"    {title:<{name}}{values[0]:>{room}}{values[1]:>{room}}")
    difference = _difference(change)
    if difference is not None:
        is_better = (difference > 0) is metric.is_least
        style = GOOD if is_better else "" if change.problem is None else BAD
        line.append(f"{told(change):>12}", style)
    if change.problem is not None:
        line.append("\n" + text.indented(f"✗ {change.problem}", 6), BAD)
    return line


def _op(op: OpChange) -> Text:
    room = _room()
    values = ["-" if each is None else count(each) for each in (op.before, op.after)]
    indent = 4 if text.width() < text.FEW_COLUMNS else 6
    name = _names(20, indent)
    title = text.fit(op.title, name)
    line = Text(f"{'':<{indent}}{title:<{name}}{values[0]:>{room}}{values[1]:>{room}}")
    line.append(f"{told_of_op(op):>12}", GOOD if op.change < 0 else "")
    return line


def _difference(change: Change) -> float | None:
    """None if there is none, or it cannot be told."""
    if change.before is None or change.after is None or change.before == change.after:
        return None
    return change.after - change.before


def told_of_op(op: OpChange) -> str:
    """`-11.1 %`, or the instructions of an op that is new."""
    return f"{op.change:+,}" if not op.before else f"{100 * op.change / op.before:+.1f} %"


def told(change: Change) -> str:
    """`-11.1 %`, `+0.60 pt`, `-1.2 dB`; empty if nothing changed."""
    difference = _difference(change)
    if difference is None:
        return ""
    unit = change.metric.unit
    if unit == "share":
        return f"{100 * difference:+.2f} pt"
    if unit == "dB":
        return "" if math.isinf(difference) else f"{difference:+.1f} dB"
    if not change.before:
        return f"{difference:+,.0f}"
    return f"{100 * difference / change.before:+.2f} %"


def _run(run: RunChange) -> RunChangeDocument:
    return RunChangeDocument(
        title=run.title,
        metrics=tuple(
            ChangeDocument(
                metric=each.metric.name,
                unit=each.metric.unit,
                before=each.before,
                after=each.after,
                threshold=None if each.threshold is None else each.threshold.text,
                excess=each.excess,
                passed=each.problem is None,
            )
            for each in run.changes
        ),
        ops=tuple(
            OpChangeDocument(title=op.title, before=op.before, after=op.after) for op in run.ops
        ),
    )

"""A page of a comparison: each metric and op before and after, as bars in pairs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from markupsafe import Markup

from cmbuild.projects.comparison import Change, OpChange, RunChange, SideBySide
from cmbuild.report.compare import CompareReport, told, told_of_op
from cmbuild.report.html.chart import BarPair, pairs
from cmbuild.report.html.environment import rendered
from cmbuild.text import count

_OPS = 12


@dataclass(frozen=True, slots=True)
class _Charts:
    metrics: Markup
    ops: Markup


def compare_page(comparison: SideBySide) -> str:
    """The page. Its numbers are those of `cmbuild compare --json`, which it contains; each is a
    <data> whose `class` is its path there.
    """
    document = json.loads(CompareReport(comparison).document(()).model_dump_json())
    sides = (comparison.before, comparison.after)
    failures = [
        f"{name} in {side.title}: {why}" for side in sides for name, why in side.failures.items()
    ]
    return rendered(
        "compare.html.j2",
        document,
        "compare",
        title=f"{comparison.before.title} and {comparison.after.title}",
        failures=failures,
        charts=[_charts(run) for run in comparison.runs],
    )


def _charts(run: RunChange) -> _Charts:
    metrics = [
        _metric(each) for each in run.changes if each.before is not None or each.after is not None
    ]
    ops = [_op(each) for each in run.ops if each.change][:_OPS]
    return _Charts(
        pairs(metrics, f"metrics of {run.title}, before and after"),
        pairs(ops, f"instructions by op of {run.title}", shared=True) if ops else Markup(),
    )


def _metric(change: Change) -> BarPair:
    metric = change.metric
    values = [
        "–" if value is None else metric.written(value) for value in (change.before, change.after)
    ]
    label = metric.name.replace("_", " ")
    return BarPair(label, _arrow(values, told(change)), _bar(change.before), _bar(change.after))


def _op(op: OpChange) -> BarPair:
    values = ["–" if each is None else count(each) for each in (op.before, op.after)]
    return BarPair(op.title, _arrow(values, told_of_op(op)), op.before, op.after)


def _arrow(values: list[str], difference: str) -> str:
    """`32.1 KB → 30.6 KB (-4.67 %)`"""
    before, after = values
    if before == after:
        return f"{before}, same" if not difference else f"{before} ({difference})"
    return f"{before} → {after}" + (f" ({difference})" if difference else "")


def _bar(value: float | None) -> float | None:
    """None for `no error`, which no bar is long enough for."""
    return None if value is None or math.isinf(value) else value

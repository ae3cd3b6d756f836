"""Two sets of runs side by side: by metric, by op, and against thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cmbuild.errors import Failed, UsageError
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.metrics import METRICS, Metric
from cmbuild.projects.thresholds import Threshold
from cmbuild.text import plural


class NothingInCommon(UsageError):
    template = "{before} and {after} have no model on a board in common"


class Exceeded(Failed):
    template = "{changes} beyond the threshold: {names}"


class NotComparable(Failed):
    template = "{name} in {side}: {reason}"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two.

    Attributes:
        title: a revision, a file or a folder.
        runs: by model and board: `kws on rp2350`.
        failures: why others did not run, or are not verified.
    """

    title: str
    runs: Mapping[str, RunFigures]
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A metric, before and after.

    Attributes:
        threshold: for its change, if there is one.
    """

    metric: Metric
    before: float | None
    after: float | None
    threshold: Threshold | None

    @property
    def excess(self) -> float | None:
        """By how much the change is beyond its threshold; None if within, or not known."""
        if self.threshold is None or self.before is None or self.after is None:
            return None
        return self.threshold.excess(self.before, self.after)

    @property
    def problem(self) -> str | None:
        if self.threshold is None:
            return None
        if self.before is None or self.after is None:
            return f"not known: {self.metric.lacking}"
        if self.excess is None:
            return None
        return f"beyond {self.threshold.text}: {self.metric.told(self.excess)}"


@dataclass(frozen=True, slots=True)
class OpChange:
    """Instructions of all kernel calls of a title; None where there is no such call."""

    title: str
    before: int | None
    after: int | None

    @property
    def change(self) -> int:
        return (self.after or 0) - (self.before or 0)


@dataclass(frozen=True, slots=True)
class RunChange:
    """A model on a board, before and after.

    Attributes:
        ops: the most changed first.
    """

    title: str
    changes: tuple[Change, ...]
    ops: tuple[OpChange, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """
    Attributes:
        removed, added: what only one side has.
    """

    before: Side
    after: Side
    runs: tuple[RunChange, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]


def compare(before: Side, after: Side, thresholds: Sequence[Threshold]) -> SideBySide:
    """
    Raises:
        NothingInCommon: no model on a board is on both sides.
    """
    first, second = ({*side.runs, *side.failures} for side in (before, after))
    if not first & second:
        raise NothingInCommon(before=before.title, after=after.title)
    both = [title for title in before.runs if title in after.runs]
    return SideBySide(
        before,
        after,
        tuple(_run(title, before.runs[title], after.runs[title], thresholds) for title in both),
        tuple(sorted(first - second)),
        tuple(sorted(second - first)),
    )


def _run(
    title: str, before: RunFigures, after: RunFigures, thresholds: Sequence[Threshold]
) -> RunChange:
    limits = {threshold.metric.name: threshold for threshold in thresholds}
    changes = (
        Change(metric, metric.value(before), metric.value(after), limits.get(metric.name))
        for metric in METRICS
    )
    return RunChange(title, tuple(changes), tuple(_ops(before, after)))


def _ops(before: RunFigures, after: RunFigures) -> list[OpChange]:
    first, second = _per_title(before), _per_title(after)
    titles = dict.fromkeys((*first, *second))
    changes = [OpChange(title, first.get(title), second.get(title)) for title in titles]
    return sorted(changes, key=lambda each: -abs(each.change))


def _per_title(run: RunFigures) -> dict[str, int]:
    totals: dict[str, int] = {}
    for op in run.instructions.per_op:
        totals[op.title] = totals.get(op.title, 0) + op.instructions
    return totals


def verdict(comparison: SideBySide) -> None:
    """
    Raises:
        NotComparable: something of both sides did not run on one, or is not verified.
        Exceeded: a change is beyond its threshold.
    """
    for side, label in ((comparison.before, "before"), (comparison.after, "after")):
        for name, reason in side.failures.items():
            if name not in comparison.removed + comparison.added:
                raise NotComparable(name=name, side=f"{side.title} ({label})", reason=reason)
    beyond = [
        f"{change.metric.name} of {run.title}"
        for run in comparison.runs
        for change in run.changes
        if change.problem is not None
    ]
    if beyond:
        names = ", ".join(beyond[:3]) + (", …" if len(beyond) > 3 else "")
        raise Exceeded(changes=plural(len(beyond), "change"), names=names)

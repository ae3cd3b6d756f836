"""Chooses the precision of each module of a model, as its user needs it on a board."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cmbuild.display.mixture import MixedPart, MixResult, NeedOutcome
from cmbuild.errors import UsageError
from cmbuild.mixing.failure import NeedsNotMet
from cmbuild.mixing.search import MixBounds, cheapest
from cmbuild.mixing.table import Mix, MixTable
from cmbuild.mixing.trial import SampleQuality, Trial, decibels
from cmbuild.mixing.trials import MixTrials, Perform
from cmbuild.pipeline.request import BuildRequest

if TYPE_CHECKING:
    from cmbuild.pipeline.pipeline import Pipeline

_MOST = 8
"""Programs that are exported and measured, at most."""

_MARGIN = 0.3
"""dB that a choice keeps beyond the need, on the samples that choose or on those that judge."""

_SLACK = 1.0
"""dB beyond the need from which a cheaper mix is looked for."""

_STEP = 4.0
"""dB that more of the labels is looked for with."""


_NEAR = 0.3
"""dB between a limit whose mix keeps the needs and one whose mix does not, where a search ends."""


@dataclass
class Bracket:
    """Limits of the table in dB: the highest whose mix fell short, the lowest whose mix did not."""

    short: float = -math.inf
    kept: float = math.inf

    @property
    def is_open(self) -> bool:
        return self.kept - self.short > _NEAR

    def raised(self, target: float | None, further: float | None) -> float | None:
        """The next limit after one whose mix fell short."""
        if target is None or further is None or further == target:
            return further
        self.short = max(self.short, target)
        if further >= self.kept and self.is_open:
            return (self.short + self.kept) / 2
        return further

    def lowered(self, target: float, further: float) -> float | None:
        """The next limit after one whose mix has more than is needed; None if there is none."""
        self.kept = min(self.kept, target)
        if further > self.short:
            return further
        return (self.short + self.kept) / 2 if self.is_open else None


class NothingToChoose(UsageError):
    template = "{options} chooses the precision, and goes without {other}"


class Chooser:
    """Chooses for one request.

    Args:
        pipeline: makes the stages.
        request: resolved, with needs.
        perform: makes their results.
    """

    def __init__(self, pipeline: Pipeline, request: BuildRequest, perform: Perform) -> None:
        self._needs, self._arena = request.source.needs, request.planning.budget
        _check(request)
        self._trials = MixTrials(pipeline, request, perform)

    def choose(self) -> BuildRequest:
        """The request with the precision of each module, and why; raises as `settled`."""
        table = self._trials.table()
        trial = self._search(table)
        result = self._result(trial, table)
        if not result.met:
            raise NeedsNotMet(result)
        return replace(trial.request, source=replace(trial.request.source, mix=result))

    def _search(self, table: MixTable) -> Trial:
        needs, margin = self._needs, _MARGIN
        target = needs.snr
        limits, code = MixBounds(arena=self._arena), 0
        if needs.flash is not None:
            plain = self._trials.trial(table.plain)
            code = plain.flash - plain.weights
            limits = replace(limits, weights=needs.flash - code)
        known, bracket = len(self._trials.tried), Bracket()
        seen: set[Mix] = set()
        for _ in range(2 * _MOST):
            if target is not None:
                limits = replace(limits, noise=10 ** (-(target + margin) / 10))
            mix = cheapest(table, limits)
            if mix not in self._trials.tried and len(self._trials.tried) - known >= _MOST:
                break
            is_new = mix not in seen
            seen.add(mix)
            trial = self._trials.trial(mix)
            if self._excess(trial, margin) > 0:
                before = limits
                further, limits = self._tightened(trial, target, limits, margin)
                if (limits.weights, limits.arena) != (before.weights, before.arena):
                    bracket = Bracket()
                if is_new and needs.flash is not None and trial.flash > needs.flash:
                    # Other mixes may go without the code that this one takes.
                    further = self._admitting(further, table.cost(mix).noise, trial, margin)
                    table = table.coded(mix, trial.flash - code)
                    limits = replace(limits, weights=before.weights)
                target = bracket.raised(target, further)
                continue
            missed = [each for each in self._judged(trial) if not each.met]
            if missed:
                margin += max([_MARGIN, *(e.asked - e.has for e in missed if e.option == "--snr")])
                continue
            if target is None or needs.snr is None:
                break
            slack = trial.choosing.snr_db - needs.snr - margin
            if slack < _SLACK or not (is_new or bracket.is_open):
                break
            target = bracket.lowered(target, target - slack + _MARGIN / 2)
            if target is None:
                break
        return min(self._trials.tried.values(), key=self._rank)

    def _rank(self, trial: Trial) -> tuple[float, float]:
        margin = _MARGIN if self._needs.snr is not None else 0.0
        choosing = self._excess(trial, margin)
        judging = trial.excess(self._needs, self._arena, trial.judging, 0.0)
        # Samples that judge only rule out what fails.
        return (choosing if choosing else judging), trial.cycles

    def _excess(self, trial: Trial, margin: float) -> float:
        """How far a trial is from the needs on the samples that choose; 0 without a margin on these
        if the others have it.
        """

        def excess(quality: SampleQuality, more: float) -> float:
            return trial.excess(self._needs, self._arena, quality, more)

        is_kept = not excess(trial.choosing, 0.0) and not excess(trial.judging, margin)
        return 0.0 if is_kept else excess(trial.choosing, margin)

    def _admitting(
        self, target: float | None, expected: Sequence[float], trial: Trial, margin: float
    ) -> float | None:
        """The limit of the table in dB; a lower one if a trial keeps more than was expected."""
        if target is None or self._needs.snr is None:
            return target
        slack = trial.choosing.snr_db - self._needs.snr - margin
        return min(target, decibels(expected) - slack) if slack > 0 else target

    def _judged(self, trial: Trial) -> tuple[NeedOutcome, ...]:
        return trial.outcomes(self._needs, self._arena, trial.judging)

    def _tightened(
        self, trial: Trial, target: float | None, limits: MixBounds, margin: float
    ) -> tuple[float | None, MixBounds]:
        """MixBounds under which the search finds another mix."""
        outcomes = trial.outcomes(self._needs, self._arena, trial.choosing, margin)
        for outcome in (each for each in outcomes if not each.met):
            if outcome.option == "--snr":
                assert target is not None
                target += max(0.5, outcome.asked + margin - outcome.has)
            elif outcome.option == "--accuracy-drop":
                target = max(target or 0.0, trial.choosing.snr_db) + _STEP
            elif outcome.option == "--flash-budget":
                over = max(64, round(outcome.has - outcome.asked))
                limits = replace(limits, weights=(limits.weights or trial.weights) - over)
            else:
                limits = replace(limits, arena=round((limits.arena or 0) * 0.9))
        return target, limits

    def _result(self, trial: Trial, table: MixTable) -> MixResult:
        rows = [
            MixedPart(
                layer=part.path,
                precision=kind,
                snr_db=decibels(table.noise_of(index, kind)),
                cycles=round(cost.cycles),
                weights=cost.weights,
            )
            for index, (part, kind, cost) in enumerate(
                zip(self._trials.parts.parts, trial.mix, trial.priced.parts, strict=True)
            )
            if cost.cycles or cost.weights
        ]
        return MixResult(
            precision=dict(trial.request.source.precision),
            parts=tuple(rows),
            needs=self._judged(trial),
            samples=trial.judging.samples,
            cycles=trial.cycles,
            plain_cycles=self._trials.trial(table.plain).cycles,
            tried=len(self._trials.tried),
            core=self._trials.prices.core,
        )


def _check(request: BuildRequest) -> None:
    """Raises NothingToChoose for options that settle what needs choose."""
    source = request.source
    fixed = {
        "--activations": source.activations,
        "--weights int4": source.weight_type,
        "--portable": source.portable,
        "--weights-as int16": request.planning.wide,
        "--executor executorch": not request.is_static,
    }
    for option, value in fixed.items():
        if value:
            raise NothingToChoose(options=" and ".join(source.needs.options), other=option)

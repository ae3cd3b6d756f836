"""Chooses the precision of each module of a model, as its user needs it on a board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cmbuild.cache.folders import below, slug
from cmbuild.display.mixture import MixedPart, MixResult, NeedOutcome
from cmbuild.errors import UsageError
from cmbuild.mixing.failure import NeedsNotMet
from cmbuild.mixing.patterns import patterns_of
from cmbuild.mixing.pricing import PricedPlan, Prices
from cmbuild.mixing.search import MixBounds, cheapest
from cmbuild.mixing.table import Mix, MixTable, PartCost
from cmbuild.mixing.trial import Trial, decibels, qualities
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.request import BuildRequest, ModelChoice
from cmbuild.sizing.fits import Fits
from cmcompiler.errors import Unsupported
from cmcompiler.frontend.parts import ModelParts, Rounded
from cmcompiler.frontend.precision import BYTES, FINE, NIBBLES, SHORT

if TYPE_CHECKING:
    from cmbuild.pipeline.pipeline import Pipeline
    from cmbuild.pipeline.stages.export import ExportStage
    from cmbuild.pipeline.stages.stage import Stage
    from cmcompiler.plan.plan import Plan

Perform = Callable[[Sequence["Stage"]], None]
"""Makes the results of stages and of what they need; raises the first failure."""


_MOST = 8
"""Programs that are exported and measured, at most."""

_MARGIN = 0.3
"""dB that a choice keeps beyond the need, since other samples judge it."""

_SLACK = 1.0
"""dB beyond the need from which a cheaper mix is looked for."""

_STEP = 4.0
"""dB that more of the labels is looked for with."""


class NothingToChoose(UsageError):
    template = "{options} chooses the precision, and goes without {other}"


class Chooser:
    """Chooses for one request.

    Args:
        pipeline: makes the stages.
        request: with needs.
        perform: makes their results.
    """

    def __init__(self, pipeline: Pipeline, request: BuildRequest, perform: Perform) -> None:
        self._pipeline, self._perform = pipeline, perform
        self._fits = Fits(pipeline)
        self._needs, self._arena = request.needs, request.planning.budget
        source = pipeline.chosen(request.source)
        _check(source, request)
        plain = replace(source, activations=None, weight_type=None)
        self._request = replace(request, source=plain, needs=Needs())
        board = pipeline.board(request.place.board)
        self._board = board
        self._trials: dict[Mix, Trial] = {}

    def choose(self) -> BuildRequest:
        """The request with the precision of each module, and why; raises as `settled`."""
        table = self._table()
        trial = self._search(table)
        result = self._result(trial, table)
        if not result.met:
            raise NeedsNotMet(result)
        return replace(trial.request, mix=result)

    def _search(self, table: MixTable) -> Trial:
        needs, margin = self._needs, _MARGIN
        target = needs.snr
        limits = MixBounds(arena=self._arena)
        if needs.flash is not None:
            plain = self._trials[table.plain]
            limits = replace(limits, weights=needs.flash - (plain.flash - plain.weights))
        for _ in range(2 * _MOST):
            if target is not None:
                limits = replace(limits, noise=10 ** (-(target + margin) / 10))
            mix = cheapest(table, limits)
            is_new = mix not in self._trials
            if is_new and len(self._trials) >= _MOST:
                break
            trial = self._trial(mix)
            if trial.excess(needs, self._arena, trial.choosing, margin) > 0:
                target, limits = self._tightened(trial, target, limits, margin)
                continue
            missed = [each for each in self._judged(trial) if not each.met]
            if missed:
                margin += max([_MARGIN, *(e.asked - e.has for e in missed if e.option == "--snr")])
                continue
            if target is None or needs.snr is None or not is_new:
                break
            slack = trial.choosing.snr_db - needs.snr - margin
            if slack < _SLACK:
                break
            target -= slack - _MARGIN / 2
        return min(self._trials.values(), key=self._rank)

    def _rank(self, trial: Trial) -> tuple[float, float]:
        margin = _MARGIN if self._needs.snr is not None else 0.0
        choosing = trial.excess(self._needs, self._arena, trial.choosing, margin)
        judging = trial.excess(self._needs, self._arena, trial.judging, 0.0)
        # Samples that judge only rule out what fails.
        return (choosing if choosing else judging), trial.cycles

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

    def _trial(self, mix: Mix) -> Trial:
        if mix not in self._trials:
            self._trials[mix] = self._tried(mix)
        return self._trials[mix]

    def _tried(self, mix: Mix) -> Trial:
        is_plain = all(kind == BYTES for kind in mix)
        precision = patterns_of([part.path for part in self._parts.parts], mix)
        request = self._with_parts() if is_plain else self._with(precision)
        plan = self._planned(request)
        source = request.source
        folder = below(request.build_dir.absolute(), slug(source.name), "mix")
        measured = self._pipeline.measured(source, self._board.name, folder, None)
        self._perform([measured])
        choosing, judging = qualities(measured)
        if self._needs.drop is not None and choosing.drop is None:
            raise UsageError(
                message=f"--accuracy-drop needs labelled samples; {source.name} has none",
                hint="samples and labels of a model: docs/models.md",
            )
        record = self._export(request).record
        size = self._fits.flash(request, plan)
        return Trial(
            mix=mix,
            request=request,
            priced=PricedPlan.of(plan, record, self._parts.parts, self._prices),
            choosing=choosing,
            judging=judging,
            cycles=self._prices.total(plan),
            flash=size,
            weights=len(plan.constants),
            arena=plan.arena_bytes,
        )

    def _table(self) -> MixTable:
        """Exports the model in each precision alone, and measures its roundings."""
        whole = {kind: self._with((("*", kind),)) for kind in (SHORT, NIBBLES, FINE)}
        whole = {BYTES: self._with_parts(), **whole}
        self._perform([self._export(request) for request in whole.values()])
        parts = self._export(whole[BYTES]).record.parts
        assert parts is not None
        if not parts.roundings:
            raise UsageError(message="nothing of the model is quantised", hint="omit --snr")
        self._parts = parts
        free = replace(self._request.planning, ram_budget=None)
        plans = {
            kind: self._planned(replace(request, planning=free)) for kind, request in whole.items()
        }
        isa = plans[BYTES].isa
        self._prices = Prices.of(self._board, isa)
        priced = {
            kind: PricedPlan.of(plan, self._export(whole[kind]).record, parts.parts, self._prices)
            for kind, plan in plans.items()
        }
        choices = tuple(_choices(index, parts, priced) for index in range(len(parts.parts)))
        outputs = len(parts.roundings[0].noise)
        table = MixTable(
            choices, parts.roundings, self._prices.conversion, priced[BYTES].rest, (1.0,) * outputs
        )
        plain = self._trial(table.plain)
        expected = table.cost(table.plain).noise
        scale = tuple(
            min(8.0, max(0.25, has / each)) if each > 0 and has > 0 else 1.0
            for has, each in zip(plain.choosing.noise, expected, strict=True)
        )
        return replace(table, scale=scale)

    def _planned(self, request: BuildRequest) -> Plan:
        export = self._export(request)
        if not is_made(export):
            self._perform([export])
        try:
            plan = self._fits.plan(request)
        except Unsupported:
            # No plan fits into the RAM that is asked for: the smallest says by how much.
            free = replace(request.planning, ram_budget=None)
            plan = self._fits.plan(replace(request, planning=free))
        assert plan is not None
        return plan

    def _export(self, request: BuildRequest) -> ExportStage:
        return self._pipeline.export(request.source, self._board.cpu)

    def _with_parts(self) -> BuildRequest:
        """The request in int8, whose export measures the roundings of the parts."""
        request = self._with((("*", BYTES),))
        return replace(request, source=replace(request.source, parts=True))

    def _with(self, precision: Iterable[tuple[str, str]]) -> BuildRequest:
        source = replace(self._request.source, precision=tuple(precision))
        return replace(self._request, source=source)

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
                zip(self._parts.parts, trial.mix, trial.priced.parts, strict=True)
            )
            if cost.cycles or cost.weights
        ]
        return MixResult(
            precision=dict(trial.request.source.precision),
            parts=tuple(rows),
            needs=self._judged(trial),
            samples=trial.judging.samples,
            cycles=trial.cycles,
            plain_cycles=self._trials[table.plain].cycles,
            tried=len(self._trials),
            core=self._prices.core,
        )


def _check(source: ModelChoice, request: BuildRequest) -> None:
    words = " and ".join(request.needs.options)
    if source.is_program:
        raise UsageError(message=f"{words} needs a model to export; {source.model} is a program")
    fixed = {
        "--activations": source.activations,
        "--weights int4": source.weight_type,
        "--portable": source.portable,
        "--weights-as int16": request.planning.wide,
        "--executor executorch": not request.is_static,
    }
    for option, value in fixed.items():
        if value:
            raise NothingToChoose(options=words, other=option)


def _choices(
    index: int, parts: ModelParts, priced: Mapping[str, PricedPlan]
) -> Mapping[str, PartCost]:
    """The precisions that change what a part computes, or what its weights take."""
    choices = {BYTES: priced[BYTES].parts[index]}
    if priced[SHORT].kernels[index] != priced[BYTES].kernels[index]:
        choices[SHORT] = priced[SHORT].parts[index]
        if priced[FINE].parts[index].weights > priced[SHORT].parts[index].weights:
            choices[FINE] = priced[FINE].parts[index]
    is_narrow = any(
        each.kind is Rounded.NARROW_WEIGHTS and each.parts == (index,) for each in parts.roundings
    )
    if is_narrow:
        choices[NIBBLES] = priced[NIBBLES].parts[index]
    return choices

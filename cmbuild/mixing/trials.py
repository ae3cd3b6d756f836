"""Programs of mixes, made and measured, and the table of what each part of a model costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cmbuild.cache.folders import below, slug
from cmbuild.errors import UsageError
from cmbuild.mixing.failure import FilesChanged
from cmbuild.mixing.patterns import patterns_of
from cmbuild.mixing.pricing import PricedPlan, Prices
from cmbuild.mixing.table import Mix, MixTable, PartCost
from cmbuild.mixing.trial import Trial, qualities
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.request import BuildRequest
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


class MixTrials:
    """Makes programs of one request in several precisions.

    Args:
        pipeline: makes the stages.
        request: resolved, with needs.
        perform: makes their results.
    """

    def __init__(self, pipeline: Pipeline, request: BuildRequest, perform: Perform) -> None:
        self._pipeline, self._perform = pipeline, perform
        self._fits = Fits(pipeline)
        self._needs = request.source.needs
        self._request = replace(request, source=replace(request.source, needs=Needs()))
        self._board = pipeline.board(request.place.board)
        self.tried: dict[Mix, Trial] = {}

    def prepare(self, mixes: Iterable[Mix]) -> None:
        """Exports the programs of mixes together, for `trial` to measure."""
        self._perform([self._export(self._mixed(mix)) for mix in mixes])

    def trial(self, mix: Mix) -> Trial:
        """The program of a mix, which is made and measured once."""
        if mix not in self.tried:
            self.tried[mix] = self._tried(mix)
        return self.tried[mix]

    def _tried(self, mix: Mix) -> Trial:
        request = self._mixed(mix)
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
            priced=PricedPlan.of(plan, record, self.parts.parts, self.prices),
            choosing=choosing,
            judging=judging,
            cycles=self.prices.total(plan),
            flash=size,
            weights=len(plan.constants),
            arena=plan.arena_bytes,
        )

    def table(self) -> MixTable:
        """Exports the model in each precision alone, and measures its roundings."""
        whole = {kind: self._with((("*", kind),)) for kind in (SHORT, NIBBLES, FINE)}
        whole = {BYTES: self._with_parts(), **whole}
        self._perform([self._export(request) for request in whole.values()])
        parts = self._export(whole[BYTES]).record.parts
        assert parts is not None
        if not parts.roundings:
            raise UsageError(message="nothing of the model is quantised", hint="omit --snr")
        self.parts = parts
        free = replace(self._request.planning, ram_budget=None)
        plans = {
            kind: self._planned(replace(request, planning=free)) for kind, request in whole.items()
        }
        isa = plans[BYTES].isa
        self.prices = Prices.of(self._board, isa)
        priced = {
            kind: PricedPlan.of(plan, self._export(whole[kind]).record, parts.parts, self.prices)
            for kind, plan in plans.items()
        }
        choices = tuple(choices_of(index, parts, priced) for index in range(len(parts.parts)))
        outputs = len(parts.roundings[0].noise)
        table = MixTable(
            choices, parts.roundings, self.prices.conversion, priced[BYTES].rest, (1.0,) * outputs
        )
        plain = self.trial(table.plain)
        expected = table.cost(table.plain).noise
        scale = tuple(
            min(8.0, max(0.25, has / each)) if each > 0 and has > 0 else 1.0
            for has, each in zip(plain.choosing.noise, expected, strict=True)
        )
        table = replace(table, scale=scale)
        if self._needs.snr is None and self._needs.drop is None:
            return table
        for kind in (SHORT, NIBBLES):
            mix = tuple(kind if kind in each else BYTES for each in choices)
            if mix != table.plain:
                table = table.calibrated(kind, mix, self.trial(mix).choosing.noise)
        return table

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
        if plan is None:
            raise FilesChanged(model=request.source.name)
        return plan

    def _export(self, request: BuildRequest) -> ExportStage:
        return self._pipeline.export(request.source, self._board.cpu)

    def _mixed(self, mix: Mix) -> BuildRequest:
        if all(kind == BYTES for kind in mix):
            return self._with_parts()
        return self._with(patterns_of([part.path for part in self.parts.parts], mix))

    def _with_parts(self) -> BuildRequest:
        """The request in int8, whose export measures the roundings of the parts."""
        request = self._with((("*", BYTES),))
        return replace(request, source=replace(request.source, parts=True))

    def _with(self, precision: Iterable[tuple[str, str]]) -> BuildRequest:
        source = replace(self._request.source, precision=tuple(precision))
        return replace(self._request, source=source)


def choices_of(
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

"""A mix of precisions whose program was made, and what it keeps of the float model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cmbuild.display.mixture import NeedOutcome
from cmbuild.mixing.pricing import PricedPlan
from cmbuild.mixing.table import Mix
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.request import BuildRequest
from cmbuild.verify.fidelity import OutputError, dequantized, top_1

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.reference import ReferenceStage

_FEW = 4
"""Samples that can be divided into those that choose and those that judge."""


@dataclass(frozen=True, slots=True)
class SampleQuality:
    """Quality of a program on some samples.

    Attributes:
        noise: power of the error over that of the numbers, at each output.
        drop: of the share of samples that get their label; None without labels.
        samples: how many.
    """

    noise: tuple[float, ...]
    drop: float | None
    samples: int

    @property
    def snr_db(self) -> float:
        return decibels(self.noise)


@dataclass(frozen=True, slots=True)
class Trial:
    """A mix whose program was exported.

    Attributes:
        choosing, judging: its quality on the samples that decide and on others.
        flash: bytes of the image.
    """

    mix: Mix
    request: BuildRequest
    priced: PricedPlan
    choosing: SampleQuality
    judging: SampleQuality
    cycles: int
    flash: int
    weights: int
    arena: int

    def outcomes(
        self, needs: Needs, arena: int | None, quality: SampleQuality, margin: float = 0.0
    ) -> tuple[NeedOutcome, ...]:
        """Each need beside what the program has."""
        outcomes = []
        if needs.snr is not None:
            has = quality.snr_db
            outcomes.append(NeedOutcome("--snr", needs.snr, has, has >= needs.snr + margin))
        if needs.drop is not None:
            drop = quality.drop or 0.0
            met = drop <= needs.drop + 1e-9
            outcomes.append(NeedOutcome("--accuracy-drop", needs.drop, drop, met))
        if needs.flash is not None:
            met = self.flash <= needs.flash
            outcomes.append(NeedOutcome("--flash-budget", needs.flash, self.flash, met))
        if arena is not None:
            outcomes.append(NeedOutcome("--ram-budget", arena, self.arena, self.arena <= arena))
        return tuple(outcomes)

    def excess(
        self, needs: Needs, arena: int | None, quality: SampleQuality, margin: float
    ) -> float:
        """How far it is from the needs; 0 if all are met."""
        total = 0.0
        for outcome in self.outcomes(needs, arena, quality, margin):
            if outcome.met:
                continue
            if outcome.option == "--snr":
                total += (outcome.asked + margin - outcome.has) / 10
            elif outcome.option == "--accuracy-drop":
                total += 10 * (outcome.has - outcome.asked)
            else:
                total += math.log(outcome.has / max(outcome.asked, 1))
        return total


def qualities(measured: ReferenceStage) -> tuple[SampleQuality, SampleQuality]:
    """On every other sample and on the rest; on all, twice, of a few."""
    real = measured.real_outputs
    assert real is not None
    count = len(real[0])
    if count < _FEW:
        whole = _quality(measured, slice(None))
        return whole, whole
    return _quality(measured, slice(0, None, 2)), _quality(measured, slice(1, None, 2))


def _quality(measured: ReferenceStage, part: slice) -> SampleQuality:
    real = measured.real_outputs
    assert real is not None
    count, ports = len(real[0]), measured.plan.record.outputs
    made = [
        dequantized(stack[:count], port)
        for stack, port in zip(measured.outputs, ports, strict=True)
    ]
    errors = [
        OutputError.between(exact[part], stored[part])
        for exact, stored in zip(real, made, strict=True)
    ]
    labels, drop = measured.samples.labels, None
    if labels is not None:
        own = labels[:count][part]
        before, after = top_1(real[0][part], own), top_1(np.asarray(made[0])[part], own)
        drop = None if before is None or after is None else max(0.0, before - after)
    noise = tuple(each.noise / each.signal if each.signal else 0.0 for each in errors)
    return SampleQuality(noise, drop, len(real[0][part]))


def decibels(noise: Sequence[float]) -> float:
    worst = max(noise, default=0.0)
    return math.inf if worst <= 0 else -10 * math.log10(worst)

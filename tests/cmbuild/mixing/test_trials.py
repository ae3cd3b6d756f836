"""Precisions that are worth trying for a part of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.mixing.failure import FilesChanged
from cmbuild.mixing.pricing import PricedPlan
from cmbuild.mixing.table import PartCost
from cmbuild.mixing.trials import MixTrials, choices_of
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.process import Processes
from cmbuild.sizing.fits import Fits
from cmcompiler.frontend.parts import ModelPart, ModelParts, Rounded, RoundingCost
from cmcompiler.frontend.precision import BYTES, FINE, NIBBLES, SHORT

PARTS = ModelParts(
    (ModelPart("conv", ("conv",)), ModelPart("flatten", ("view",))),
    (
        RoundingCost(Rounded.WEIGHTS, (0,), 900, (1e-5,)),
        RoundingCost(Rounded.NARROW_WEIGHTS, (0,), 900, (1e-3,)),
    ),
)


def priced(kernel: str, weights: int) -> PricedPlan:
    nothing = PartCost(0, 0, 64)
    return PricedPlan((PartCost(9000, weights, 64), nothing), ((kernel,), ()), nothing)


def test_only_precisions_that_change_a_part_are_tried() -> None:
    plans = {
        BYTES: priced("conv2d", 900),
        SHORT: priced("conv2d_s16", 900),
        NIBBLES: priced("conv2d_w4", 450),
        FINE: priced("conv2d_s16", 1800),
    }
    choices = choices_of(0, PARTS, plans)
    assert {kind: cost.weights for kind, cost in choices.items()} == {
        BYTES: 900,
        SHORT: 900,
        FINE: 1800,
        NIBBLES: 450,
    }
    assert list(choices_of(1, PARTS, plans)) == [BYTES]
    # Without a form for weights of 16 bits, it is int16 with weights of eight.
    assert FINE not in choices_of(0, PARTS, {**plans, FINE: plans[SHORT]})


def test_files_that_change_meanwhile_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fits, "plan", lambda fits, request: None)
    request = compose(BuildRequest, model="digits", board="native", build_dir=tmp_path)
    pipeline = Pipeline(WorkContext(Processes(), tmp_path))
    with pytest.raises(FilesChanged, match="files of digits or of cmbuild changed"):
        MixTrials(pipeline, request, lambda stages: None).trial(())

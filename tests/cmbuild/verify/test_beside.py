"""A program beside the float model of another file: shapes, scales and the softmax at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from harness.tflite_file import TfliteFile

from cmbuild.accuracy import Fidelity
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.verify.beside import fidelity_beside
from cmbuild.verify.fidelity import Array, FidelityBasis
from cmcompiler.frontend.sample_origin import SampleOrigin

SCALE, LOGIT = 1 / 64, 1 / 8
IMAGE = (1, 2, 4, 3)
"""As TensorFlow has it; torch has (1, 3, 2, 4)."""

WEIGHTS = np.random.default_rng(1).integers(-128, 128, (5, 24)).astype(np.int8)


def program(folder: Path, *, has_softmax: bool) -> PlanStage:
    """A fully connected layer of an image, perhaps with a softmax behind it."""
    file = TfliteFile()
    source, flat = file.tensor(IMAGE, scale=SCALE), file.tensor((1, 24), scale=SCALE)
    shape = file.constant(np.array([1, 24], np.int32))
    weights = file.constant(WEIGHTS, scale=0.01)
    logits, shares = (
        file.tensor((1, 5), scale=LOGIT),
        file.tensor((1, 5), scale=1 / 256, zero_point=-128),
    )
    file.operator("RESHAPE", (source, shape), (flat,))
    file.operator("FULLY_CONNECTED", (flat, weights, -1), (logits,))
    if has_softmax:
        file.operator("SOFTMAX", (logits,), (shares,), beta=1.0)
    path = folder / "net.tflite"
    path.write_bytes(file.write((source,), (shares if has_softmax else logits,)))
    own = ProgramSource("net", "forward", "program", file=path)
    ports = own.graph().inputs
    record = SimpleNamespace(
        inputs=[
            SimpleNamespace(shape=port.shape, dtype="int8", quantization=port.quantization)
            for port in ports
        ]
    )
    return cast(PlanStage, SimpleNamespace(source=own, record=record))


def judge(
    plan: PlanStage, inputs: Sequence[Array], outputs: Sequence[Array] | None
) -> ReferenceStage:
    """Samples of a float model without a softmax."""
    stage: Any = SimpleNamespace(
        real_inputs=tuple(inputs),
        real_outputs=outputs,
        basis=FidelityBasis(SampleOrigin.DATA, "", None, ("y",), True),
        reset=False,
        plan=plan,
    )
    return cast(ReferenceStage, stage)


def real(images: Array) -> Array:
    """The float model, of images with channels second."""
    flat = np.moveaxis(images, 2, -1).reshape(len(images), 1, 24)
    return flat @ (0.01 * WEIGHTS.astype(np.float64).T)


@pytest.fixture
def images() -> Array:
    return np.random.default_rng(2).uniform(-1.9, 1.9, (300, 1, 3, 2, 4)).astype(np.float32)


@pytest.mark.parametrize("has_softmax", [False, True])
def test_logits_are_compared(tmp_path: Path, images: Array, has_softmax: bool) -> None:
    plain = program(tmp_path, has_softmax=False)
    judged = judge(plain, (images,), (real(images),))
    (tmp_path / "own").mkdir()
    plan = program(tmp_path / "own", has_softmax=has_softmax)
    fidelity = fidelity_beside(plan, judged)
    assert isinstance(fidelity, Fidelity)
    noise = (LOGIT**2 + SCALE**2 * np.square(0.01 * WEIGHTS).sum(axis=1).mean()) / 12
    expected = 10 * np.log10(np.square(real(images)).mean() / noise)
    assert fidelity.snr_db == pytest.approx(expected, abs=0.5)
    assert fidelity.samples == 300


def test_what_does_not_fit_is_not_compared(tmp_path: Path, images: Array) -> None:
    plan = program(tmp_path, has_softmax=False)
    assert fidelity_beside(plan, judge(plan, (images,), None)) is None
    whole = images.astype(np.int64)
    assert fidelity_beside(plan, judge(plan, (whole,), (real(images),))) is None
    assert fidelity_beside(plan, judge(plan, (images[:, :, :2],), (real(images),))) is None
    assert fidelity_beside(plan, judge(plan, (images,), (real(images)[..., :4],))) is None

"""The samples that the reference is compared with the float model on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cmbuild.pipeline.request import Sampling
from cmbuild.pipeline.stages.measured import MeasuredStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.verify.quality import measure
from cmcompiler.frontend.job import SamplesRecord
from cmcompiler.frontend.outputs import MOST, ModelOutputs
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.vectors import Samples

LABELS = np.array([0, 1, 2, 0, 1])


def plan(folder: Path, count: int = 5, macs: int = 100, states: tuple[str, ...] = ()) -> Any:
    """Of an export with `count` samples, whose program returns its input of three floats."""
    inputs = np.eye(3, dtype=np.float32)[np.resize(LABELS, count)][:, None]
    saved = folder / "samples.npz"
    Samples((inputs,), np.resize(LABELS, count)).save(saved)
    port = SimpleNamespace(name="x", dtype="float32", shape=(1, 3), quantization=None)
    export = SimpleNamespace(samples=saved, outputs=ModelOutputs((2 * inputs,), (inputs,)))
    exported = SimpleNamespace(
        calibration=SimpleNamespace(samples=100, held_out=0, detail=""),
        notes=(),
        outputs=("",),
        holds_classes=True,
        samples=SamplesRecord(
            count=count, labels=True, origin=SampleOrigin.SAMPLES, is_sequence=bool(states)
        ),
    )
    source = SimpleNamespace(name="net", export=export, record=exported)
    record = SimpleNamespace(macs=macs, inputs=[port], outputs=[port], states=states)
    return SimpleNamespace(name="net-native", source=source, record=record)


def stage(kind: type[ReferenceStage], plan: Any, **sampling: Any) -> ReferenceStage:
    made = kind(plan, Sampling(**sampling), 0, Path())
    made.outputs = made.samples.inputs
    return made


@pytest.mark.parametrize(
    ("there", "macs", "count"),
    [(5, 100, 5), (5, 300_000_000, 3), (5, 5_000_000_000, 1), (2 * MOST, 0, MOST)],
    ids=["all", "work", "at least one", "at most"],
)
def test_as_many_samples_as_take_some_seconds(
    tmp_path: Path, there: int, macs: int, count: int
) -> None:
    measured = stage(MeasuredStage, plan(tmp_path, there, macs))
    assert len(measured.samples) == count
    assert measured.samples.labels is not None
    assert measured.samples.labels.tolist() == np.resize(LABELS, there)[:count].tolist()
    assert measured.real_outputs is not None
    assert len(measured.real_outputs[0]) == count


def test_of_a_sequence_all_samples_are_measured_and_a_part_says_so(tmp_path: Path) -> None:
    whole = plan(tmp_path, 2 * MOST, macs=0, states=("state",))
    measured = stage(MeasuredStage, whole)
    assert len(measured.samples) == 2 * MOST
    run, every = (stage(ReferenceStage, whole, samples=count) for count in (8, "all"))
    for each, samples in ((measured, 2 * MOST), (run, 8), (every, 2 * MOST)):
        fidelity = measure(each, each, None).fidelity
        assert fidelity is not None
        assert (fidelity.samples, fidelity.sequence) == (samples, 2 * MOST)


def test_a_run_of_its_own_samples_measures_device_and_reference_on_them(tmp_path: Path) -> None:
    run = stage(ReferenceStage, plan(tmp_path), samples=4)
    actual = measure(run, run, [np.roll(run.outputs[0], 1, axis=2)])
    assert actual.accuracy is not None
    assert (actual.accuracy.float, actual.accuracy.reference, actual.accuracy.device) == (1, 1, 0)
    assert actual.fidelity is not None
    assert (actual.accuracy.samples, actual.fidelity.samples) == (4, 4)
    assert actual.fidelity.snr_db == pytest.approx(6.02, abs=0.01)


def test_more_samples_than_the_export_has_are_not_compared(tmp_path: Path) -> None:
    run = stage(ReferenceStage, plan(tmp_path), samples=9)
    fidelity = measure(run, run, run.outputs)
    assert fidelity.accuracy is not None
    assert fidelity.fidelity is not None
    assert (len(run.samples), fidelity.accuracy.samples, fidelity.fidelity.samples) == (9, 5, 5)


def test_a_run_of_one_sample_measures_the_reference_on_all(tmp_path: Path) -> None:
    made = plan(tmp_path)
    run, measured = stage(ReferenceStage, made), stage(MeasuredStage, made)
    fidelity = measure(run, measured, run.outputs)
    assert fidelity.accuracy is not None
    assert (fidelity.accuracy.device, fidelity.accuracy.samples) == (None, 5)
    assert fidelity.fidelity is not None
    assert fidelity.warnings == ("SNR 6.0 dB against float: below 20 dB",)


def test_a_program_without_a_float_model_is_compared_with_labels_only(tmp_path: Path) -> None:
    run = stage(ReferenceStage, plan(tmp_path), samples=2)
    run.plan.source.export = run.plan.source.record = None
    fidelity = measure(run, None, run.outputs)
    assert fidelity.accuracy is not None
    assert (fidelity.accuracy.float, fidelity.accuracy.device) == (None, 1)
    assert (fidelity.fidelity, fidelity.warnings) == (None, ())


def test_buffers_that_are_reset_make_other_outputs_than_the_float_models(tmp_path: Path) -> None:
    assert stage(ReferenceStage, plan(tmp_path), reset=True).real_outputs is not None
    kept = plan(tmp_path, states=("state",))
    assert stage(ReferenceStage, kept, reset=True).real_outputs is None
    assert stage(ReferenceStage, kept).real_outputs is not None

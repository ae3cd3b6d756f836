"""Remarks about a program's accuracy, for the report of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.accuracy import Accuracy, Fidelity
from cmbuild.text import plural
from cmbuild.verify.fidelity import Array, Outputs, warnings
from cmcompiler.frontend.sample_origin import SampleOrigin

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.reference import ReferenceStage


@dataclass(frozen=True, slots=True)
class Quality:
    """Fields of a RunResult."""

    accuracy: Accuracy | None
    fidelity: Fidelity | None
    warnings: tuple[str, ...]


def measure(
    run: ReferenceStage,
    measured: ReferenceStage | None,
    device: Sequence[Array] | None,
    labelled: ReferenceStage | None = None,
) -> Quality:
    """Compares with the float model, if known.

    Args:
        run: what was run on the device.
        measured: what the float model was run on; None for a program without one.
        device: its outputs; None without one.
        labelled: samples of the project, whose accuracy counts unless others were chosen.
    """
    ran = _outputs(run, device)
    asked = ran.accuracy() if run.is_chosen else None
    if asked is None and labelled is not None:
        asked = _outputs(labelled, None).accuracy()
    if measured is None:
        return Quality(asked, None, (*_notes(run), *_warnings(run, asked, None)))
    judge = _judge(run, measured, labelled)
    beside = ran if judge is run else _outputs(judge, None)
    fidelity, accuracy = beside.fidelity(), asked or beside.accuracy()
    told = (*_notes(run), *_unknown(run, labelled), *_warnings(judge, accuracy, fidelity))
    return Quality(accuracy, fidelity, told)


def _judge(
    run: ReferenceStage, measured: ReferenceStage, labelled: ReferenceStage | None
) -> ReferenceStage:
    """The best samples that the float model has computed: real ones rather than made-up ones, and
    others than those that calibrated.
    """
    basis = measured.basis
    if basis is None or basis.inputs is SampleOrigin.SAMPLES:
        return measured
    given = (stage for stage in (labelled, run) if stage is not None and stage.real is not None)
    return next((stage for stage in given if stage.real_outputs is not None), measured)


def _unknown(*stages: ReferenceStage | None) -> Iterator[str]:
    """Why there is no figure of the user's inputs."""
    for stage in stages:
        if stage is not None and stage.real is not None and (reason := stage.real.reason):
            yield f"the float model did not compute {stage.title}: {reason}"


def _notes(run: ReferenceStage) -> Iterator[str]:
    """Requests of the user that were not met."""
    record = run.plan.source.record
    yield from () if record is None else record.notes
    if run.added:
        count = len(run.samples)
        given = plural(count - run.added, "sample")
        yield f"the model has {given}; the other {run.added:,} of {count:,} are random"


def _outputs(stage: ReferenceStage, device: Sequence[Array] | None) -> Outputs:
    return Outputs(
        stage.plan.record.outputs,
        stage.samples.labels,
        stage.real_outputs,
        stage.outputs,
        device,
        stage.basis,
    )


def _warnings(
    stage: ReferenceStage, accuracy: Accuracy | None, fidelity: Fidelity | None
) -> tuple[str, ...]:
    plan, record = stage.plan.record, stage.plan.source.record
    inputs = list(zip(plan.inputs, stage.real_inputs, strict=True))
    calibration = None if record is None else record.calibration
    return tuple(warnings(accuracy, fidelity, calibration, inputs, plan.outputs))

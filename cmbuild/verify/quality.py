"""What a run says of the program's accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.accuracy import Accuracy, Fidelity
from cmbuild.text import plural
from cmbuild.verify.fidelity import Array, Outputs, warnings

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
    beside = ran if measured is run else _outputs(measured, None)
    fidelity, accuracy = beside.fidelity(), asked or beside.accuracy()
    told = (*_notes(run), *_warnings(measured, accuracy, fidelity))
    return Quality(accuracy, fidelity, told)


def _notes(run: ReferenceStage) -> Iterator[str]:
    """What the user asked for and did not get."""
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

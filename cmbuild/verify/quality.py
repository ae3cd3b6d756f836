"""What a run says of the program's accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.accuracy import Accuracy, Fidelity
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
    run: ReferenceStage, measured: ReferenceStage | None, device: Sequence[Array] | None
) -> Quality:
    """Compares with the float model, if known.

    Args:
        run: what was run on the device.
        measured: what the float model was run on; None for a program without one.
        device: its outputs; None without one.
    """
    ran = _outputs(run, device)
    asked = ran.accuracy() if run.is_chosen else None
    if measured is None:
        return Quality(asked, None, _warnings(run, asked, None))
    beside = ran if measured is run else _outputs(measured, None)
    fidelity, accuracy = beside.fidelity(), asked or beside.accuracy()
    return Quality(accuracy, fidelity, _warnings(measured, accuracy, fidelity))


def _outputs(stage: ReferenceStage, device: Sequence[Array] | None) -> Outputs:
    return Outputs(
        stage.plan.record.outputs, stage.samples.labels, stage.real_outputs, stage.outputs, device
    )


def _warnings(
    stage: ReferenceStage, accuracy: Accuracy | None, fidelity: Fidelity | None
) -> tuple[str, ...]:
    plan, record = stage.plan.record, stage.plan.source.record
    inputs = list(zip(plan.inputs, stage.real_inputs, strict=True))
    calibration = None if record is None else record.calibration
    return tuple(warnings(accuracy, fidelity, calibration, inputs, plan.outputs))

"""The end of each step reaches the caller's function."""

from __future__ import annotations

from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.events import StepOutcome, StepState, WorkStep

STEP = WorkStep("plan", "mv2 for mve", "planned")
OUTCOME = StepOutcome(STEP, StepState.DONE, "12 ops", 0.5)


def test_the_end_of_a_step_is_told() -> None:
    outcomes: list[StepOutcome] = []
    callback = Callback(outcomes.append)
    callback.begin([STEP])
    callback.started(STEP)
    callback.progress(STEP, "half")
    assert outcomes == []
    callback.ended(OUTCOME)
    callback.finished()
    callback.close([], None)
    assert outcomes == [OUTCOME]


def test_nobody_needs_to_listen() -> None:
    Callback(None).ended(OUTCOME)

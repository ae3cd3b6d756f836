"""Runs of a command, distributed over workers; shown as they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.pipeline.events import StepOutcome, StepState
from cmbuild.pipeline.performing import is_made
from cmbuild.workers.choice import WorkersChoice
from cmbuild.workers.results import SweepResult, UnitResult
from cmbuild.workers.units import RunUnit, WorkUnit, shared_units

if TYPE_CHECKING:
    from cmbuild.pipeline.request import RunRequest
    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.stage import Stage

_WORKERS_BUILD = Path("build")


def distribute(
    session: Session,
    requests: Sequence[RunRequest],
    choice: WorkersChoice,
    own_folders: bool = False,
) -> Iterator[tuple[int, SweepResult]]:
    """Results with the index of their request, as they come; a run that fails is one too.

    Args:
        own_folders: see RunUnit.

    Raises:
        UsageError, CompilerError: a request that no worker can fulfil.
        CmbuildError: see WorkersChoice.opened and Workers.perform.
    """
    stages = [session.pipeline.simulate(request) for request in requests]
    units = [
        replace(RunUnit.of(_there(request, choice)), own_folder=own_folders) for request in requests
    ]

    @cache
    def is_due(shared: Stage) -> bool:
        """Workers here share this computer's cache; what others have made is not known."""
        return choice.scheduler is not None or not is_made(shared)

    needs = [shared_units(unit, stage, is_due) for unit, stage in zip(units, stages, strict=True)]
    for index, result in perform(session, choice, units, needs):
        assert isinstance(result, SweepResult)
        yield index, result


def perform(
    session: Session,
    choice: WorkersChoice,
    units: Sequence[WorkUnit],
    needs: Sequence[Sequence[WorkUnit]],
) -> Iterator[tuple[int, UnitResult]]:
    """Results of units with their index, as they come; raises as `distribute`.

    Args:
        needs: for each unit, those that must end before it.
    """
    indices: dict[str, list[int]] = {}
    for index, unit in enumerate(units):
        indices.setdefault(unit.key, []).append(index)
    logs, mode = session.context.logs, session.remote_mode
    everything: dict[str, WorkUnit] = {unit.key: unit for before in needs for unit in before}
    everything |= {unit.key: unit for unit in units}
    reporter = session.reporter
    with choice.opened(session.processes, logs, mode) as workers:
        reporter.begin([unit.step for unit in everything.values()])
        try:
            for done, outcome in workers.perform(units, needs):
                session.interrupts.check()
                state = StepState.DONE if outcome.result.error is None else StepState.FAILED
                step, reason = done.step, outcome.result.error
                reporter.ended(StepOutcome(step, state, step.subject, outcome.seconds, reason))
                for index in indices.get(done.key, ()):
                    yield index, outcome.result
        finally:
            reporter.finished()


def _there(request: RunRequest, choice: WorkersChoice) -> RunRequest:
    """With the worker's own build folder, unless the user chose one."""
    folder = workers_build(request.build.build_dir, choice)
    return replace(request, build=replace(request.build, build_dir=folder))


def workers_build(build_dir: Path, choice: WorkersChoice) -> Path:
    """The build folder for units, given that of the command."""
    if choice.scheduler is None or build_dir != paths.default_build():
        return build_dir
    return _WORKERS_BUILD

"""Units of work, each of which fails alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cmbuild.cache.fingerprint import digest, fingerprint
from cmbuild.errors import CmbuildError, UsageError
from cmbuild.mixing.settling import settled
from cmbuild.pipeline.events import WorkStep
from cmbuild.pipeline.pipeline import build_folder
from cmbuild.pipeline.request import ModelChoice, RunRequest
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.tasks.run import run as perform
from cmbuild.workers.results import SweepResult, UnitResult

if TYPE_CHECKING:
    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.simulate import SimulateStage
    from cmbuild.pipeline.stages.stage import Stage

OpenSession = Callable[[Path], "Session"]
"""Opens a session, given the folder of its logs."""


class OtherFile(UsageError):
    template = "{path} is missing there, or differs"
    hint = "start workers in a folder with the project's files, such as a share"


class WorkUnit(Protocol):
    """Work that any worker can do, with the same result.

    Attributes:
        step: as shown on its line.
        files: of the user, that it reads, with their digests.
    """

    @property
    def step(self) -> WorkStep: ...

    @property
    def files(self) -> Mapping[str, str]: ...

    @property
    def key(self) -> str:
        """Equal for equal work."""

    def perform(self, open_session: OpenSession) -> UnitResult:
        """The result; errors of the work are part of it."""

    def failed(self, failure: CmbuildError) -> UnitResult:
        """The result of a unit that could not be performed."""


@dataclass(frozen=True, slots=True)
class RunUnit:
    """A model on a board, from its export to the comparison.

    Attributes:
        own_folder: build in a folder of the worker's own, since several units at once are for
            the same model and board.
    """

    request: RunRequest
    files: Mapping[str, str] = field(default_factory=dict)
    own_folder: bool = False

    @classmethod
    def of(cls, request: RunRequest) -> RunUnit:
        """With the digests of the user's files as they are now."""
        return cls(request, digests(request.build.source, request.sampling.inputs))

    @property
    def step(self) -> WorkStep:
        model, first = Path(self.request.build.source.model).name, self.request.sampling.first
        part = f" from sample {first:,}" if first else ""
        return WorkStep("simulate", f"{model} on {board_name(self.request)}{part}", "ran")

    @property
    def key(self) -> str:
        return f"run-{fingerprint(request=repr(self.request), files=dict(self.files))}"

    def perform(self, open_session: OpenSession) -> SweepResult:
        request, result = self._placed(), None
        folder = build_folder(request.build)
        with open_session(folder / "logs") as session:
            check_files(self.files)

            def work(stages: Sequence[Stage]) -> None:
                perform(session, stages, [])
                if session.failures.first is not None:
                    raise session.failures.first

            build = settled(request.build, session.pipeline, work)
            request = replace(request, build=build)
            stage = session.pipeline.simulate(request)
            perform(session, [stage], [folder])
            result = stage.result
        return SweepResult.of(
            request.build.source.model, board_name(request), result, session.failures.first
        )

    def failed(self, failure: CmbuildError) -> SweepResult:
        return SweepResult.of(self.step.subject, "", None, failure)

    def _placed(self) -> RunRequest:
        if not self.own_folder:
            return self.request
        build = self.request.build
        own = build.build_dir / "workers" / str(os.getpid())
        return replace(self.request, build=replace(build, build_dir=own))


@dataclass(frozen=True, slots=True)
class SharedUnit:
    """Stages of several runs, made before them so that none waits for another: the export of a
    model, or the library for a core.

    Attributes:
        request: one of the runs.
        kind: `export` or `libs`.
        name: of the stage.
    """

    request: RunRequest
    kind: str
    name: str
    subject: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def step(self) -> WorkStep:
        return WorkStep(self.kind, self.subject, "made")

    @property
    def key(self) -> str:
        if self.kind == StageKind.LIBS.label:  # whatever the model
            return f"{self.kind}-{self.name}"
        source = repr(self.request.build.source)
        return f"{self.kind}-{self.name}-{fingerprint(source=source, files=dict(self.files))}"

    def perform(self, open_session: OpenSession) -> SweepResult:
        """Never has a result of a run."""
        request = self.request
        with open_session(build_folder(request.build) / "logs") as session:
            check_files(self.files)
            run = session.pipeline.simulate(request)
            perform(session, [s for s in run.runner.common if s.kind.label == self.kind], [])
        return SweepResult.of(
            request.build.source.model, board_name(request), None, session.failures.first
        )

    def failed(self, failure: CmbuildError) -> SweepResult:
        return SweepResult.of(self.step.subject, "", None, failure)


def shared_units(
    unit: RunUnit, run: SimulateStage, is_due: Callable[[Stage], bool]
) -> list[SharedUnit]:
    """The due stages of a run that others may need too.

    Args:
        is_due: whether a stage is to be made.
    """
    return [
        SharedUnit(unit.request, stage.kind.label, stage.name, stage.subject, unit.files)
        for stage in run.runner.common
        if is_due(stage)
    ]


def board_name(request: RunRequest) -> str:
    """`corstone300`, or `corstone300:scalar` with an instruction set of its own."""
    place = request.build.place
    return place.board if place.isa is None else f"{place.board}:{place.isa}"


def check_files(files: Mapping[str, str]) -> None:
    """
    Raises:
        OtherFile: naming one.
    """
    for path, expected in files.items():
        if digest(Path(path)) != expected:
            raise OtherFile(path=path)


def digests(source: ModelChoice, others: Iterable[Path] = ()) -> dict[str, str]:
    """Digests of the user's files that a model is made from, and of others, by path."""
    return {str(path): digest(path) for path in (*_user_files(source), *others)}


def _user_files(source: ModelChoice) -> list[Path]:
    from cmcompiler.frontend.source import find_source

    files = [path for path in (source.weights, source.calibration) if path is not None]
    if source.is_program:
        return [Path(source.model), *files]
    own = find_source(source.model)
    return [*(own.files if Path(source.model.partition(":")[0]).exists() else ()), *files]

"""The pipeline from a request to its stages; requests share stages that they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cmbuild.boards.registry import board_folders, hides_builtin
from cmbuild.cache.folders import CacheFolder, below, slug
from cmbuild.catalog import find_board
from cmbuild.errors import UnknownName, UsageError
from cmbuild.files import check_input
from cmbuild.pipeline.executors import RunnerParts, contributed
from cmbuild.pipeline.naming import Names, check_state, package_folder
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.request import FEEDS, HARDWARE, IO, Boundary, Sampling
from cmbuild.pipeline.stages.export import Batch, ExportStage
from cmbuild.pipeline.stages.labelled import LabelledStage
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.measured import MeasuredStage
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.pipeline.stages.simulate import SimulateStage
from cmbuild.pipeline.stages.texts import TextsStage
from cmbuild.pipeline.weight_types import patterns
from cmbuild.projects.project import Project, find_project
from cmbuild.toolchain.toolchains import CROSS, HOST, installed
from cmcompiler.frontend.job import ExportJob
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.source import check_source
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.suggest import did_you_mean
from cmcompiler.target import Target

if TYPE_CHECKING:
    from cmbuild.boards.board import Board
    from cmbuild.pipeline.context import WorkContext
    from cmbuild.pipeline.request import (
        BoardChoice,
        BuildRequest,
        FlashRequest,
        ModelChoice,
        PackageRequest,
        RunRequest,
    )
    from cmbuild.pipeline.stages.flash import FlashStage
    from cmbuild.pipeline.stages.package import PackageStage


UNNAMED = "cortex-m55"
"""Target core of programs for no board."""


class NeedsDsp(UsageError):
    template = "--weights-as int16 needs the DSP extension; kernels for {place} are {isa}"
    hint = "omit it: only the inner loops of that extension read such weights"


class NotSettled(UsageError):
    template = "{options} chooses the precision of {model}, which goes without --workers and doit"
    hint = "choose first: `cmbuild build` shows the precision to keep in cmbuild.toml"


class NoSuchIsa(UsageError):
    template = "{board} does not support instruction set {isa!r}"


def build_folder(request: BuildRequest) -> Path:
    """The folder of everything built for a model on a board: <model>/<place>."""
    place = request.place.name
    if not request.is_static:
        place += f".{request.executor.executor}"
    if request.planning.wide:
        place += ".int16"
    return below(request.build_dir.absolute(), slug(request.source.name), place)


class Pipeline:
    """Makes the stages for requests, and checks what can be checked before any work.

    Raises:
        BrokenFile: the project's cmbuild.toml is not valid.
    """

    def __init__(self, context: WorkContext, project: Project | None = None) -> None:
        """
        Args:
            project: by default that of the current folder.
        """
        self.context = context
        self._computing = (CacheFolder.REFERENCES.path, context.progress)
        self._project = project or find_project()
        self._names = Names(self._project, context.note)
        self._ops = self._project.ops
        self._batch = Batch(context)
        self._exports: dict[tuple[str, ExportJob], ExportStage] = {}
        self._libraries: dict[str, LibraryStage] = {}
        self._boards: dict[str, Board] = {}

    def apart(self) -> Pipeline:
        """Makes stages for the same project, of which none is made along with those of this one."""
        return Pipeline(self.context, self._project)

    def chosen(self, source: ModelChoice) -> ModelChoice:
        """A model with its file and options, where the project has it; raises as `export`."""
        return self._names.chosen(source)

    def resolved(self, request: BuildRequest) -> BuildRequest:
        """A request with all that the project says of its model; raises as `export`."""
        return self._names.resolved(request)

    def board(self, name: str) -> Board:
        """Raises UsageError or BrokenFile: an unknown board, or an invalid one."""
        return self._board(name)

    def export(self, source: ModelChoice, target: str) -> ExportStage:
        """
        Raises:
            UsageError, CompilerError: an unknown model or target, or a missing file.
        """
        source = self._names.chosen(source)
        if source.needs.options:
            raise NotSettled(options=" and ".join(source.needs.options), model=source.name)
        key = source.name, self._job(source, target)
        if key not in self._exports:
            check_source(source.model)
            self._exports[key] = self._exported(source, key[1], self._batch)
        return self._exports[key]

    def _exported(self, source: ModelChoice, job: ExportJob, batch: Batch) -> ExportStage:
        home = None if source.label is None else self._project.folder.absolute()
        folder = CacheFolder.EXPORTS.path
        return ExportStage(job, batch, folder, label=source.label, home=home, wanted=source.texts)

    def _job(self, source: ModelChoice, target: str) -> ExportJob:
        is_ours = source.label is not None
        torch_ops = self._ops.torch
        return ExportJob(
            model=source.model,
            target=target,
            seed=source.seed,
            weights=source.weights,
            calibration=source.calibration,
            portable=source.portable,
            sensitivity=source.sensitivity,
            parts=source.parts,
            refinement=not source.no_refinement,
            precision=patterns(source.activations, source.weight_type, source.precision),
            # A model of the project runs in its folder, wherever the user is.
            torch_ops=torch_ops.absolute() if torch_ops is not None and is_ours else torch_ops,
            intermediates=source.intermediates is not None,
            output=Path(),
        )

    def runner(self, request: BuildRequest, launcher: str | None = None) -> RunnerStage:
        """
        Args:
            launcher: the one requested to run the image, if any.

        Raises:
            UsageError, CompilerError: an unknown model, board, instruction set or toolchain, or a
                missing file.
            BrokenFile: a descriptor is not valid.
        """
        request = self._names.resolved(request)
        place = request.place
        board = self._board(place.board)
        isa = _isa(board, place.isa)
        folder = build_folder(request)
        target = Target(board.cpu, isa, board.fpu)
        # The static executor runs a program made for any core.
        cpu = board.cpu if request.is_static else target.exported_for
        source = self._source(request.source, request.boundary, cpu)
        library = self._library(board, isa, place.toolchain)
        if not request.is_static:
            parts = RunnerParts(
                request,
                source,
                library,
                board,
                launcher,
                map(self._board, self._board_folders),
                self._project,
                self.context,
                folder,
            )
            return contributed(request.executor.executor)(parts)
        plan = PlanStage(source, board, isa, folder, _options(request, isa, board.name))
        runner = RunnerStage(plan, library, board, folder, copying=request.copying)
        if request.source.texts is not None:
            runner.after += (TextsStage(plan, request.source.texts, folder),)
        return runner

    def simulate(self, request: RunRequest) -> SimulateStage:
        """
        Raises:
            UsageError, CompilerError: an unknown model, board, instruction set or toolchain, or a
                missing file.
            BrokenFile: a descriptor is not valid.
        """
        request = self._names.resolved_run(request)
        build = request.build
        runner = self.runner(build, request.launcher)
        sampling, measured, labelled = request.sampling, None, None
        reference = self._reference(runner.plan, sampling, build.source)
        if not build.source.is_program:
            is_own = sampling.inputs or sampling.reset or sampling.samples is None
            measured = self._measured(runner.plan, build.source) if is_own else reference
        if build.source.data is not None and not sampling.inputs:
            labelled = self._labelled(runner.plan, build.source, build.source.data)
        if not build.source.is_program:
            if labelled is not None:
                labelled.beside_float(self.context, CacheFolder.FLOATS.path, is_own=True)
            if sampling.inputs and sampling.is_compared and not _has_samples(runner.plan):
                reference.beside_float(self.context, CacheFolder.FLOATS.path)
        flash = None
        if request.on == HARDWARE:
            flash = self.flash(runner, request, only_if_needed=True)
        return SimulateStage(
            runner,
            reference,
            request,
            self.context.processes,
            build_folder(build),
            measured=measured,
            labelled=labelled,
            flash=flash,
            sensitivity=self._sensitivity(build.source, runner.board.cpu),
            note=self.context.note,
            progress=self.context.progress,
        )

    def _sensitivity(self, source: ModelChoice, cpu: str) -> Sequence[ExportStage]:
        """Exports that measured what quantising each operator costs, if `eval` has made them;
        in a batch of their own, so that no run makes them.
        """
        if source.is_program:
            return ()
        source, batch = self._names.chosen(source), Batch(self.context)
        jobs = (self._job(source, target) for target in dict.fromkeys((cpu, UNNAMED)))
        return [
            self._exported(source, job.model_copy(update={"sensitivity": True}), batch)
            for job in jobs
        ]

    def flash(
        self,
        runner: RunnerStage,
        request: FlashRequest | RunRequest,
        *,
        only_if_needed: bool = False,
    ) -> FlashStage:
        """Flashes a runner onto a real board.

        Args:
            only_if_needed: if another image runs there.
        """
        from cmbuild.pipeline.stages.flash import FlashStage

        folder, processes = build_folder(request.build), self.context.processes
        return FlashStage(
            runner, request.flashing, processes, folder, only_if_needed=only_if_needed
        )

    def measured(
        self,
        source: ModelChoice,
        board: str | None,
        folder: Path,
        samples: int | Literal["all"] | None,
    ) -> ReferenceStage:
        """The reference of a model, to be compared with its float model; raises as `runner`.

        Args:
            board: whose core the program is for; that of most boards if None.
            samples: how many, or `all`; as many as take some seconds if None.
        """
        source = self._names.chosen(source)
        cpu = UNNAMED if board is None else self._board(board).cpu
        target = Target.parse(cpu)
        program = self._source(source, Boundary(), target.cpu)
        plan = PlanStage(program, None, target.isa, folder)
        if samples is not None:
            return self._reference(plan, Sampling(samples=samples), source)
        return self._measured(plan, source)

    def package(self, request: PackageRequest) -> PackageStage:
        """Raises UsageError or CompilerError: an unknown model, core or instruction set."""
        from cmbuild.packaging.naming import check_name, fitting_name
        from cmbuild.pipeline.stages.package import PackageStage
        from cmcompiler.emit.source import identifier

        request = self._names.resolved(request)
        folder, board = package_folder(request), None
        if request.board is None:
            target = Target.parse(request.target, request.isa)
        else:
            board = self._board(request.board)
            target = Target(board.cpu, _isa(board, request.isa), board.fpu)
        source = self._source(request.source, request.boundary, target.cpu)
        options = _options(request, target.isa, target.cpu)
        options = replace(options, feed=options.feed or FEEDS[0])
        plain = identifier(source.name)
        name = fitting_name(plain) if request.name is None else check_name(request.name)
        plan = PlanStage(
            source, None, target.isa, folder, options, prefix=None if name == plain else name
        )
        # Test vectors are independent samples, whatever ran before.
        reference = self._reference(plan, replace(request.sampling, reset=True), request.source)
        processes = self.context.processes
        return PackageStage(
            plan, reference, target, request, folder, processes=processes, board=board
        )

    def board_library(self, place: BoardChoice) -> tuple[Board, LibraryStage]:
        """A board, and the runtime library for it.

        Raises:
            UsageError: an unknown board, instruction set or toolchain.
            BrokenFile: a descriptor is not valid.
        """
        board = self._board(place.board)
        return board, self._library(board, _isa(board, place.isa), place.toolchain)

    def library(self, target: Target, toolchain: str) -> LibraryStage:
        """The runtime library for a core."""
        folder = CacheFolder.LIBRARIES.path
        library = LibraryStage(target, toolchain, self._ops, self.context, folder)
        return self._libraries.setdefault(library.name, library)

    def _reference(self, plan: PlanStage, sampling: Sampling, model: ModelChoice) -> ReferenceStage:
        return ReferenceStage(plan, sampling, model.seed, *self._computing)

    def _measured(self, plan: PlanStage, source: ModelChoice) -> MeasuredStage:
        return MeasuredStage(plan, Sampling(), source.seed, *self._computing)

    def _labelled(self, plan: PlanStage, source: ModelChoice, data: Path) -> LabelledStage:
        return LabelledStage(plan, data, source.seed, *self._computing)

    def _source(self, source: ModelChoice, boundary: Boundary, cpu: str) -> ProgramSource:
        name, method, io = slug(source.name), boundary.method, boundary.io or IO[0]
        check_state(source)
        if not source.is_program:
            export = self.export(source, cpu)
            return ProgramSource(name, method, io, export=export, ops=self._ops)
        file = Path(source.model)
        check_input(file)
        return ProgramSource(
            name, method, io, file.absolute(), ops=self._ops, keep_state=source.keep_state
        )

    def _board(self, name: str) -> Board:
        if name not in self._boards:
            board = self._boards[name] = find_board(name, self._board_folders)
            if hides_builtin(board.folder):
                self.context.note(f"{name} is the board in {board.folder}, not cmbuild's")
        return self._boards[name]

    @cached_property
    def _board_folders(self) -> Mapping[str, Path]:
        return board_folders(self._project.folder.absolute())

    def _library(self, board: Board, isa: Isa, toolchain: str | None) -> LibraryStage:
        return self.library(Target(board.cpu, isa, board.fpu), _toolchain(board, toolchain))


def _has_samples(plan: PlanStage) -> bool:
    """Whether the model is known to have samples of its own, which it is judged by."""
    export = plan.source.export
    if export is None or not is_made(export):
        return False
    return export.record.samples.origin is SampleOrigin.SAMPLES


def _options(request: BuildRequest | PackageRequest, isa: Isa, place: str) -> PlanOptions:
    """
    Args:
        place: the board or core, for messages.
    """
    planning, boundary = request.planning, request.boundary
    if planning.no_streams and boundary.by_rows:
        raise UsageError(message=f"--feed {boundary.feed} needs streams; omit --no-streams")
    if planning.wide and isa is not Isa.DSP:
        raise NeedsDsp(place=place, isa=isa.label)
    return PlanOptions(not planning.no_streams, boundary.feed, planning.budget, planning.wide)


def _isa(board: Board, name: str | None) -> Isa:
    if name is None:
        return board.isas[0]
    labels = [isa.label for isa in board.isas]
    if name not in labels:
        raise NoSuchIsa(board=board.name, isa=name, hint=did_you_mean(name, labels))
    return Isa.named(name)


def _toolchain(board: Board, name: str | None) -> str:
    if name is None:
        return installed(board.toolchain)
    known = [board.toolchain] if board.toolchain == HOST else CROSS
    if name not in known:
        raise UnknownName(kind=f"toolchain for {board.name}", name=name, known=known)
    return name

"""Which models fit which boards: from exported programs, without a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory
from cmbuild.boards.registry import board_folders
from cmbuild.cache.fingerprint import Value, fingerprint
from cmbuild.cache.folders import CacheFolder, slug
from cmbuild.catalog import find_board
from cmbuild.display.mixture import MixResult
from cmbuild.errors import Failed, Missing
from cmbuild.files import write
from cmbuild.firmware.remedies import Attempt, Choice, advice, attempts
from cmbuild.pipeline.copies import Copying
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import NARROW, WIDE, Boundary, BuildRequest, Planning
from cmbuild.pipeline.stages.export import ExportStage
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.sizing.curves import CurveSizes
from cmbuild.sizing.estimate import (
    Basis,
    CodeSize,
    Need,
    ProgramSize,
    assumed,
    code_size,
    functions,
    need,
)
from cmbuild.sizing.linking import Linked, link
from cmbuild.sizing.results import (
    ExportedAccuracy,
    FitResult,
    NeedResult,
    PredictedCycles,
    RamCurveResult,
    WideResult,
)
from cmbuild.sizing.sections import known_code
from cmcompiler.frontend.precision import Pattern
from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA, Target

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan

T = TypeVar("T")

_SIZE = TypeAdapter(ProgramSize)
_LINKED = TypeAdapter(Linked)
_CURVE = TypeAdapter(CurveSizes)

_Key = tuple[str, tuple[Pattern, ...], Isa, Boundary, Planning]
"""Model, precision of its modules, and how it is planned."""

_VERSION = 8  # version of the `fits` entries in the cache


class NoProgram(Missing):
    template = "no exported program for {models} in the cache"
    hint = "--export exports missing models, half a minute each"


class TooBig(Failed):
    template = "{what}"
    hint = "`cmbuild boards NAME` shows the board's memory"


@dataclass(frozen=True, slots=True)
class Cell:
    """A model on a board.

    Attributes:
        need: None if there is no program of the model.
        tried: remedies, for one that does not fit.
        accuracy: of the export, if it has labelled samples.
        mix: how the precision of modules was chosen; None if it was not, by need.
        narrow: the same with weights of int8, if those of `need` are of int16.
        curve: RAM against cycles, if requested.
    """

    model: str
    board: Board
    need: Need | None
    tried: tuple[Attempt, ...] = ()
    accuracy: ExportedAccuracy | None = None
    mix: MixResult | None = None
    narrow: Need | None = None
    curve: RamCurveResult | None = None

    @property
    def over(self) -> int:
        """Bytes too many, over all regions."""
        return 0 if self.need is None else sum(self.need.over.values())

    @property
    def fits(self) -> bool | None:
        return None if self.need is None else not self.need.over

    @property
    def result(self) -> FitResult:
        return FitResult(
            model=self.model,
            board=self.board.name,
            flash=self.board.capacity(Memory.FLASH),
            ram=self.board.capacity(Memory.RAM),
            fits=self.fits,
            need=None if self.need is None else _need_result(self.need),
            cycles=self.cycles,
            tried=self.tried,
            accuracy=self.accuracy,
            wide=self.wide,
            curve=self.curve,
            mix=self.mix,
        )

    @property
    def cycles(self) -> PredictedCycles | None:
        return self._cycles(self.need)

    @property
    def wide(self) -> WideResult | None:
        if self.need is None or self.narrow is None:
            return None
        before, after = self._cycles(self.narrow), self.cycles
        fewer = None if before is None or after is None else before.total - after.total
        return WideResult(self.need.flash - self.narrow.flash, fewer)

    def _cycles(self, need: Need | None) -> PredictedCycles | None:
        if need is None:
            return None
        return need.program.cycles_on(self.board, Copying())


@dataclass(frozen=True, slots=True)
class _Exported:
    """The exported programs that boards with the same core share."""

    size: ProgramSize
    accuracy: ExportedAccuracy | None


def exported_accuracy(export: ExportStage) -> ExportedAccuracy | None:
    """None without labelled samples."""
    if not export.record.samples.labels:
        return None
    from cmbuild.verify.fidelity import top_1
    from cmcompiler.frontend.vectors import Samples

    labels, outputs = Samples.load(export.samples).labels, export.outputs
    if labels is None or not outputs.real or not outputs.quantized:
        return None
    labels = labels[: len(outputs.real[0])]
    shares = [top_1(stacks[0], labels) for stacks in (outputs.real, outputs.quantized)]
    if shares[0] is None or shares[1] is None:
        return None
    return ExportedAccuracy(shares[0], shares[1], int((labels >= 0).sum()))


def _need_result(need: Need) -> NeedResult:
    return NeedResult(
        weights=need.program.constants,
        code=need.code.code,
        arena=need.program.arena,
        static=need.static,
        stack=need.stack,
        basis=need.code.basis.value,
        over=dict(need.over),
    )


def check(cells: Sequence[Cell], models: Sequence[str], boards: Sequence[str]) -> None:
    """Whether each model that somebody named fits: all boards that are named too, or else any.

    Raises:
        NoProgram: there is no exported program.
        TooBig: names all that do not fit.
    """
    known = {cell.model for cell in cells if cell.need is not None}
    if lacking := [model for model in dict.fromkeys(models) if model not in known]:
        raise NoProgram(models=", ".join(lacking))
    if not known:
        raise NoProgram(models="any model")
    if what := list(_too_big(cells, models, boards)):
        tried = {(cell.model, cell.board.name): cell for cell in cells if cell.tried}
        hints = [advice(cell.tried, cell.over) for cell in tried.values()]
        raise TooBig(what="; ".join(what), **({"hint": hints[0]} if len(hints) == 1 else {}))


def _too_big(cells: Sequence[Cell], models: Sequence[str], boards: Sequence[str]) -> Iterator[str]:
    for model in dict.fromkeys(models):
        places = [cell for cell in cells if cell.model == model]
        if boards:
            names = dict.fromkeys(cell.board.name for cell in places if not cell.fits)
            yield from (f"{slug(model)} does not fit {name}" for name in names)
        elif not any(cell.fits for cell in places):
            yield f"{slug(model)} does not fit any board"


def boards_with_memory(names: Sequence[str], weights_as: str | None = None) -> list[Board]:
    """The boards with these names, or all whose kernels read such weights, except this computer,
    whose memory is not limited.

    Raises:
        UnknownName, BrokenFile.
    """
    folders = board_folders()
    boards = [find_board(name, folders) for name in names or folders]
    wide = weights_as == WIDE and not names
    suited = [board for board in boards if board.isas[0] is Isa.DSP] if wide else boards
    return [board for board in suited if board.layout is not None]


class Fits:
    """Answers for models and boards; caches what they have in common."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        # Exports of a pipeline that are due are made together; these are to be looked at only.
        self._looking = pipeline.apart()
        self._programs: dict[_Key, _Exported | None] = {}

    def cell(self, request: BuildRequest) -> Cell:
        """
        Raises:
            CmbuildError, CompilerError: a model that there is not, or whose program cannot run.
        """
        runner = self._looking.runner(request)
        source, isa = request.source, runner.plan.isa
        key = source.model, source.precision, isa, request.boundary, request.planning
        if key not in self._programs:
            plan = self._with_program(runner.plan, request)
            self._programs[key] = None if plan is None else self._exported(plan)
        exported = self._programs[key]
        if exported is None:
            return Cell(request.source.model, runner.board, None)
        code = self._code(runner.board, runner.library, exported.size)
        needed = need(runner.board, exported.size, code)
        accuracy, mix = exported.accuracy, source.mix
        cell = Cell(source.model, runner.board, needed, accuracy=accuracy, mix=mix)
        if not request.planning.wide:
            return cell
        planning = replace(request.planning, weights_as=NARROW)
        return replace(cell, narrow=self.cell(replace(request, planning=planning)).need)

    def remedied(self, cell: Cell, request: BuildRequest) -> Cell:
        """The cell with what remedies give, if it does not fit; raises as `cell`."""
        if not cell.over:
            return cell
        boundary, planning = request.boundary, request.planning
        plan = self._looking.runner(request).plan
        options = plan.options
        now = Choice(plan.source.io, options.feed, options.streams, plan.isa, options.wide)

        def sized(choice: Choice) -> int:
            changed = replace(
                request,
                boundary=replace(boundary, io=choice.io, feed=choice.feed),
                planning=replace(
                    planning,
                    no_streams=not choice.streams,
                    weights_as=WIDE if choice.wide else NARROW,
                ),
                place=replace(request.place, isa=choice.isa.label),
            )
            return self.cell(changed).over

        return replace(cell, tried=tuple(attempts(now, cell.board.isas, cell.over, sized)))

    def curved(self, cell: Cell, request: BuildRequest) -> Cell:
        """The cell with RAM against cycles, if its model is exported; raises as `cell`."""
        runner = self._looking.runner(request)
        plan = self._with_program(runner.plan, request)
        if plan is None:
            return cell
        sizes = _remembered(_CURVE, lambda: _curve(plan), curve=plan.fingerprint)

        def needed(program: ProgramSize) -> Need:
            return need(runner.board, program, self._code(runner.board, runner.library, program))

        return replace(cell, curve=sizes.on(runner.board, needed))

    def missing(self, requests: Iterable[BuildRequest]) -> list[ExportStage]:
        """Exports that would give a program to each model without one."""
        exports: dict[str, ExportStage] = {}
        for request in requests:
            if request.source.model in exports:
                continue
            runner = self._looking.runner(request)
            if self._with_program(runner.plan, request) is None:
                exports[request.source.model] = self._pipeline.export(
                    request.source, runner.board.cpu
                )
        return list(exports.values())

    def _with_program(self, plan: PlanStage, request: BuildRequest) -> PlanStage | None:
        """The plan, perhaps of a program that was exported for another core: what of a program
        depends on its target is not in a plan.
        """
        if plan.source.export is None:
            return plan
        others = (self._looking.export(request.source, cpu) for cpu in BEST_ISA)
        for export in (plan.source.export, *others):
            if is_made(export):
                folder, source = plan.entry.folder.parent, replace(plan.source, export=export)
                return PlanStage(source, plan.board, plan.isa, folder, plan.options)
        return None

    def plan(self, request: BuildRequest) -> Plan | None:
        """None if there is no program of the model; raises as `cell`."""
        plan = self._with_program(self._looking.runner(request).plan, request)
        return None if plan is None else _planned(plan)

    def flash(self, request: BuildRequest, plan: Plan) -> int:
        """Bytes of weights and code of an image, code estimated, and not counted on a computer;
        raises as `cell`.
        """
        runner = self._looking.runner(request)
        size = ProgramSize.of(plan)
        if runner.board.layout is None:
            return size.constants
        return size.constants + self._code(runner.board, runner.library, size).code

    def _exported(self, plan: PlanStage) -> _Exported:
        export = plan.source.export
        return _Exported(self._size(plan), None if export is None else exported_accuracy(export))

    def _size(self, plan: PlanStage) -> ProgramSize:
        def planned() -> ProgramSize:
            return ProgramSize.of(_planned(plan))

        return _remembered(_SIZE, planned, program=plan.fingerprint)

    def _code(self, board: Board, library: LibraryStage, program: ProgramSize) -> CodeSize:
        best = (cpu for cpu, isa in BEST_ISA.items() if isa is library.target.isa)
        targets = (Target(cpu, library.target.isa) for cpu in best)
        related = (self._looking.library(target, library.toolchain_name) for target in targets)
        for made in (library, *related):
            if is_made(made):
                basis = Basis.LIBRARY if made is library else Basis.RELATED
                linked = self._linked(made, functions(board, program))
                return code_size(board, program, linked, basis)
        known = known_code()
        core = known.core(library.target.cpu, library.target.isa.label)
        if core is None or not known.has(core, program.kernels):
            return assumed(board)
        linked = known.linked(core, functions(board, program))
        return code_size(board, program, linked, Basis.TABLE)

    def _linked(self, library: LibraryStage, names: list[str]) -> Linked:
        def linked() -> Linked:
            context = self._pipeline.context
            log = context.logs / f"link-{library.name}.txt"
            compiler, target = library.toolchain, library.target
            return link(
                [library.archive], names, compiler, target, processes=context.processes, log=log
            )

        return _remembered(_LINKED, linked, library=library.fingerprint, names=names)


def _planned(plan: PlanStage) -> Plan:
    from cmcompiler.plan.planner import make_plan

    graph = plan.source.live_graph()
    with plan.source.ops.registered():
        return make_plan(graph, plan.isa, plan.options)


def _curve(plan: PlanStage) -> CurveSizes:
    from cmcompiler.plan.curve import ram_curve

    graph = plan.source.live_graph()
    with plan.source.ops.registered():
        return CurveSizes.of(ram_curve(graph, plan.isa, plan.options))


def _remembered(kind: TypeAdapter[T], find: Callable[[], T], **key: Value) -> T:
    """The value that an earlier command kept, if it is there and whole; else computed now."""
    file = CacheFolder.FITS.path / f"{fingerprint(version=_VERSION, **key)}.json"
    try:
        return kind.validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        value = find()
        write(file, kind.dump_json(value).decode())
        return value

"""Which models fit which boards: from exported programs, without a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from cmbuild.boards.board import Board
from cmbuild.boards.registry import board_folders
from cmbuild.cache.fingerprint import Value, fingerprint
from cmbuild.cache.folders import CacheFolder, slug
from cmbuild.catalog import find_board
from cmbuild.errors import Failed, Missing
from cmbuild.files import write
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.stages.export import ExportStage
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.sizing.estimate import (
    ASSUMED,
    Basis,
    CodeSize,
    Need,
    ProgramSize,
    code_size,
    functions,
    need,
)
from cmbuild.sizing.linking import Linked, link
from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA, Target

T = TypeVar("T")

_SIZE = TypeAdapter(ProgramSize)
_LINKED = TypeAdapter(Linked)

_VERSION = 2  # of what `fits` in the cache holds


class NoProgram(Missing):
    template = "no exported program for {models} in the cache"
    hint = "--export exports missing models, half a minute each"


class TooBig(Failed):
    template = "{what}"
    hint = (
        "--io int8 makes inputs and outputs smaller; `cmbuild boards NAME` shows the board's memory"
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A model on a board.

    Attributes:
        need: None if there is no program of the model.
    """

    model: str
    board: Board
    need: Need | None

    @property
    def fits(self) -> bool | None:
        return None if self.need is None else not self.need.over


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
        raise TooBig(what="; ".join(what))


def _too_big(cells: Sequence[Cell], models: Sequence[str], boards: Sequence[str]) -> Iterator[str]:
    for model in dict.fromkeys(models):
        places = [cell for cell in cells if cell.model == model]
        if boards:
            names = dict.fromkeys(cell.board.name for cell in places if not cell.fits)
            yield from (f"{slug(model)} does not fit {name}" for name in names)
        elif not any(cell.fits for cell in places):
            yield f"{slug(model)} does not fit any board"


def boards_with_memory(names: Sequence[str]) -> list[Board]:
    """The boards with these names, or all, except this computer, whose memory is not limited.

    Raises:
        UnknownName, BrokenFile.
    """
    folders = board_folders()
    found = [find_board(name, folders) for name in names or folders]
    return [board for board in found if board.layout is not None]


class Fits:
    """Answers for models and boards; caches what they have in common."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        # Exports of a pipeline that are due are made together; these are to be looked at only.
        self._looking = Pipeline(pipeline.context)
        self._programs: dict[tuple[str, Isa], ProgramSize | None] = {}

    def cell(self, request: BuildRequest) -> Cell:
        """
        Raises:
            CmbuildError, CompilerError: a model that there is not, or whose program cannot run.
        """
        runner = self._looking.runner(request)
        key = request.source.model, runner.plan.isa
        if key not in self._programs:
            plan = self._with_program(runner.plan, request)
            self._programs[key] = None if plan is None else self._size(plan)
        program = self._programs[key]
        if program is None:
            return Cell(request.source.model, runner.board, None)
        code = self._code(runner.board, runner.library, program)
        return Cell(request.source.model, runner.board, need(runner.board, program, code))

    def missing(self, requests: Iterable[BuildRequest]) -> list[ExportStage]:
        """Exports that would give a program to each model without one."""
        found: dict[str, ExportStage] = {}
        for request in requests:
            if request.source.model in found:
                continue
            runner = self._looking.runner(request)
            if self._with_program(runner.plan, request) is None:
                found[request.source.model] = self._pipeline.export(
                    request.source, runner.board.cpu
                )
        return list(found.values())

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
                return PlanStage(source, plan.board, plan.isa, folder)
        return None

    def _size(self, plan: PlanStage) -> ProgramSize:
        def planned() -> ProgramSize:
            from cmcompiler.plan.planner import make_plan

            graph = plan.source.graph()
            with plan.source.ops.registered():
                return ProgramSize.of(make_plan(graph, plan.isa))

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
        return ASSUMED

    def _linked(self, library: LibraryStage, names: list[str]) -> Linked:
        def linked() -> Linked:
            context = self._pipeline.context
            log = context.logs / f"link-{library.name}.txt"
            compiler, target = library.toolchain, library.target
            return link(
                library.archive, names, compiler, target, processes=context.processes, log=log
            )

        return _remembered(_LINKED, linked, library=library.fingerprint, names=names)


def _remembered(kind: TypeAdapter[T], find: Callable[[], T], **key: Value) -> T:
    """What an earlier command found for this key, if it is there and whole; else found now."""
    file = CacheFolder.FITS.path / f"{fingerprint(version=_VERSION, **key)}.json"
    try:
        return kind.validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        found = find()
        write(file, kind.dump_json(found).decode())
        return found

"""Which models fit which boards: from programs that were exported before, without a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.boards.registry import board_folders
from cmbuild.cache.fingerprint import fingerprint
from cmbuild.catalog import find_board
from cmbuild.errors import Failed, Missing
from cmbuild.files import write
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.stages.export import ExportStage, slug
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.sizing.archive import Archive
from cmbuild.sizing.estimate import ASSUMED, Basis, CodeSize, Need, ProgramSize, code_size, need
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import cpu_flags
from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA, Target

T = TypeVar("T")

_SIZE = TypeAdapter(ProgramSize)
_FILES = TypeAdapter(tuple[Path, ...])

_SYSTEM_LIBRARIES = ("libc_nano.a", "libm.a", "libgcc.a")
_VERSION = 1  # of what `fits` in the cache holds


class NoProgram(Missing):
    template = "the cache has no program of {models}"
    hint = "--export makes what is not there, which takes half a minute a model"


class TooBig(Failed):
    template = "{what}"
    hint = "--io int8 makes inputs and outputs smaller; `cmbuild boards NAME` shows its memory"


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
        NoProgram: nobody can tell.
        TooBig: naming all that do not.
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
            yield f"{slug(model)} fits no board"


def boards_with_memory(names: Sequence[str]) -> list[Board]:
    """The boards of these names, or all; without this computer, which has no end of memory.

    Raises:
        UnknownName, BrokenFile.
    """
    folders = board_folders()
    found = [find_board(name, folders) for name in names or folders]
    return [board for board in found if board.layout is not None]


class Fits:
    """Answers for models and boards; remembers what several have in common."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._session = pipeline.session
        # Exports of a pipeline that are due are made together; these are to be looked at only.
        self._looking = Pipeline(pipeline.session)
        self._programs: dict[tuple[str, Isa], ProgramSize | None] = {}
        self._libraries: dict[tuple[Isa, str], list[LibraryStage]] = {}
        self._archives: dict[Path, Archive] = {}

    def cell(self, request: BuildRequest) -> Cell:
        """
        Raises:
            CmbuildError, CompilerError: a model that there is not, or whose program cannot run.
        """
        runner = self._looking.runner(request)
        key = request.model, runner.plan.isa
        if key not in self._programs:
            plan = self._with_program(runner.plan, request)
            self._programs[key] = None if plan is None else self._size(plan)
        program = self._programs[key]
        if program is None:
            return Cell(request.model, runner.board, None)
        code = self._code(runner.board, runner.library, program)
        return Cell(request.model, runner.board, need(runner.board, program, code))

    def missing(self, requests: Iterable[BuildRequest]) -> list[ExportStage]:
        """Exports that would give a program to each model without one."""
        found: dict[str, ExportStage] = {}
        for request in requests:
            if request.model in found:
                continue
            runner = self._looking.runner(request)
            if self._with_program(runner.plan, request) is None:
                found[request.model] = self._pipeline.export(request, runner.board.cpu)
        return list(found.values())

    def _with_program(self, plan: PlanStage, request: BuildRequest) -> PlanStage | None:
        """The plan, perhaps of a program that was exported for another core: what of a program
        depends on its target is not in a plan.
        """
        if plan.source.export is None:
            return plan
        others = (self._looking.export(request, cpu) for cpu in BEST_ISA)
        for export in (plan.source.export, *others):
            if self._session.is_made(export):
                folder, source = plan.entry.folder.parent, replace(plan.source, export=export)
                return PlanStage(source, plan.board, plan.isa, folder)
        return None

    def _size(self, plan: PlanStage) -> ProgramSize:
        file = self._cached(program=plan.fingerprint)
        size = _read(_SIZE, file)
        if size is None:
            from cmcompiler.plan.planner import make_plan

            graph = plan.source.graph()
            with plan.source.ops.registered():
                size = ProgramSize.of(make_plan(graph, plan.isa))
            write(file, _SIZE.dump_json(size).decode())
        return size

    def _code(self, board: Board, library: LibraryStage, program: ProgramSize) -> CodeSize:
        if self._session.is_made(library):
            return code_size(board, program, self._linked(library), Basis.LIBRARY)
        for other in self._others(library):
            if self._session.is_made(other):
                return code_size(board, program, self._linked(other), Basis.RELATED)
        return ASSUMED

    def _others(self, library: LibraryStage) -> list[LibraryStage]:
        """Libraries for other cores with the same instruction set."""
        isa, toolchain = library.target.isa, library.toolchain_name
        if (isa, toolchain) not in self._libraries:
            targets = (Target(cpu, isa) for cpu, best in BEST_ISA.items() if best is isa)
            found = [self._looking.library(target, toolchain) for target in targets]
            self._libraries[isa, toolchain] = found
        return self._libraries[isa, toolchain]

    def _linked(self, library: LibraryStage) -> list[Archive]:
        """The archives that an image is linked from."""
        files = (library.archive, *self._system_libraries(library))
        for file in files:
            if file not in self._archives:
                self._archives[file] = Archive(file)
        return [self._archives[file] for file in files]

    def _system_libraries(self, library: LibraryStage) -> tuple[Path, ...]:
        """The C library's and the compiler's own; a toolchain without them has all in ours."""
        toolchain, target = library.toolchain, library.target
        if toolchain.name != "gcc":
            return ()
        file = self._cached(library=library.fingerprint)
        known = _read(_FILES, file)
        if known is None or not all(path.exists() for path in known):
            flags = cpu_flags(toolchain.name, target)
            asked = [
                tools.ask(toolchain.compiler, *flags, f"-print-file-name={name}")[1]
                for name in _SYSTEM_LIBRARIES
            ]
            # A compiler that has no such file repeats the name.
            known = tuple(path for path in map(Path, map(str.strip, asked)) if path.is_absolute())
            write(file, _FILES.dump_json(known).decode())
        return known

    def _cached(self, **key: str) -> Path:
        return paths.cache() / "fits" / f"{fingerprint(version=_VERSION, **key)}.json"


def _read(kind: TypeAdapter[T], file: Path) -> T | None:
    """What an earlier command found out, if it is there and whole."""
    try:
        return kind.validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None

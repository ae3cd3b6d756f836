"""runner: the firmware for a model on a board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cmbuild import paths
from cmbuild.accuracy import FloatUse
from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory, PartUse, RegionUse
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.firmware.capacity import check_sizes
from cmbuild.firmware.compile_commands import FILE as COMMANDS
from cmbuild.firmware.compile_commands import exported
from cmbuild.image.products import PRODUCTS
from cmbuild.image.record import RECORD, ImageRecord
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.registry import launchers_of
from cmbuild.pipeline.copies import OFF, Copying
from cmbuild.pipeline.copying import HotSteps, hot_steps, placed
from cmbuild.pipeline.defaults import MODEL
from cmbuild.pipeline.floats import float_use, has_fpu
from cmbuild.pipeline.stages.library import LibraryStage, toolchain_parts
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.results import FlashUse, MemoryUse, PoolUse, RamUse
from cmcompiler.emit.files import ASSEMBLY, C_FILE, HEADER, WEIGHTS

NOTHING = Copying(hot=OFF)

SOURCES = ("cmake", "cortexm", "include", "libc", "runner")
"""Parts of the runtime that are compiled for each image, or configure its linking."""


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image, and the board with its memory where the image is linked for."""

    file: Path
    record: ImageRecord
    board: Board


class RunnerStage(Stage):
    """The image, in the build folder of model and board.

    Attributes:
        executor: what runs the program: `static`, `executorch`.
        board: as its descriptor has it; see `placed_board`.
    """

    kind = StageKind.RUNNER
    verb = "linked"

    def __init__(
        self,
        plan: PlanStage,
        library: LibraryStage,
        board: Board,
        folder: Path,
        *,
        copying: Copying = NOTHING,
    ) -> None:
        """
        Args:
            copying: what goes to RAM that is to spare.
        """
        self._copying = copying
        self.executor = "static"
        self.name = plan.name
        self.subject = f"{plan.source.name} on {folder.name}"
        self.after = (plan, library)
        self.plan = plan
        self.library = library
        self.board = board
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        model = self.plan.entry.folder
        toolchain = self.library.toolchain
        return toolchain_parts(toolchain, self.library.target) | {
            "model": [model / name for name in (C_FILE, HEADER, ASSEMBLY, WEIGHTS)],
            "library": self.library.archive,
            "board": self.board.folder,
            "copied": self._copied_parts,
            "hot": repr(self.hot_steps),
            "products": [*PRODUCTS, RECORD],
            "sources": [paths.runtime() / name for name in SOURCES],
        }

    @property
    def _copied_parts(self) -> Value:
        """Whether kernels and constants are copied to RAM although the board does not say so."""
        own, placed = self.board.layout, self.placed_board.layout
        if own is None or placed is None:
            return []
        return [
            placed.hot_kernels != own.hot_kernels,
            placed.hot_constants != own.hot_constants,
        ]

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "runner")

    @property
    def image(self) -> Path:
        name = "runner" if self.library.toolchain.is_host else "runner.elf"
        return self.entry.folder / name

    def inspect(self, folder: Path) -> None:
        ImageRecord.read(folder)
        if not (folder / self.image.name).is_file():
            raise ValueError("it has no image")

    @property
    def kernels(self) -> Set[str]:
        """The kernels that the image must define, without `cm_`."""
        return {step.kernel for step in self.plan.record.steps if step.is_call}

    @property
    def common(self) -> tuple[Stage, ...]:
        """Stages that other images may need too: the export and the library."""
        return (*self.plan.source.after, self.library)

    @cached_property
    def placed_board(self) -> Board:
        """The board with the places of the program's parts; known once there is a plan."""
        if not self._copying.of_code:
            return self.board
        plan = self.plan.record
        constants = plan.constant_bytes if self._copying.of_constants else 0
        return placed(self.board, constants, plan.arena_bytes)

    @cached_property
    def hot_steps(self) -> HotSteps | None:
        """The first steps, whose constants are copied if RAM has no room for all."""
        if not self._copying.of_constants:
            return None
        plan = self.plan.record
        constants = [step.constant_bytes for step in plan.steps]
        return hot_steps(self.placed_board, constants=constants, arena=plan.arena_bytes)

    @cached_property
    def record(self) -> ImageRecord:
        return ImageRecord.read(self.entry.folder)

    def placed(self, launcher: Launcher) -> PlacedImage:
        """The image that a launcher executes."""
        if not launcher.moves:
            return PlacedImage(self.image, self.record, self.placed_board)
        folder = self.entry.folder / launcher.name
        record = ImageRecord.read(folder)
        board = self.placed_board.moved(launcher.moves)
        return PlacedImage(folder / self.image.name, record, board)

    def memory(self, stack: int | None = None, pools: tuple[PoolUse, ...] = ()) -> MemoryUse:
        """
        Args:
            stack: bytes used, if known.
            pools: as used by a run.
        """
        sizes, board = self.record.sizes, self.board
        flash = FlashUse(
            code=sizes.code,
            weights=sizes.weights + sizes.copied,
            capacity=board.capacity(Memory.FLASH),
        )
        ram = RamUse(
            arena=sizes.arena,
            state=self.plan.record.state_bytes,
            static=sizes.static - self._copied_code,
            reserved=sizes.stack,
            stack=stack,
            capacity=board.capacity(Memory.RAM),
            pools=pools,
            weights=self._copied_bytes,
            code=self._copied_code,
            stack_problem=self.record.stack_problem,
        )
        return MemoryUse(flash, ram, self.plan.arena, tuple(self._regions()))

    @property
    def _copied_bytes(self) -> int:
        layout = self.placed_board.layout
        if layout is None or layout.hot_constants is None:
            return self.record.sizes.copied
        return self.record.sizes.weights

    @property
    def _copied_code(self) -> int:
        """Bytes of kernels in RAM that the board's descriptor does not ask for."""
        own, placed = self.board.layout, self.placed_board.layout
        is_placed = own is not None and placed is not None and placed.hot_kernels != own.hot_kernels
        return self.record.sizes.hot if is_placed else 0

    def _regions(self) -> Iterator[RegionUse]:
        """The board's memory that the image uses, in the order of the descriptor."""
        layout, sizes = self.placed_board.layout, self.record.sizes
        if layout is None:
            return
        places = (
            ("code", layout.code, sizes.code),
            ("weights", layout.constants, sizes.weights + sizes.copied),
            ("weights", layout.data, self._copied_bytes),
            ("stack", layout.data, sizes.stack),
            ("static", layout.data, sizes.static - sizes.hot),
            ("hot", layout.hot_kernels or layout.hot, sizes.hot),
            ("arena", layout.arena, sizes.arena),
        )
        for region in self.placed_board.regions.values():
            parts = tuple(
                PartUse(name=name, bytes=size)
                for name, place, size in places
                if place == region.name and size
            )
            if parts:
                yield RegionUse(
                    name=region.name,
                    kind=region.kind.value,
                    origin=region.origin,
                    size=region.size,
                    parts=parts,
                )

    @property
    def artifacts(self) -> dict[str, Path]:
        source, plan = self.plan.source.path, self.plan.entry.folder
        made = {suffix[1:]: self.image.with_suffix(suffix) for suffix in PRODUCTS}
        products = {name: file for name, file in made.items() if file.exists()}
        return {"program": source, "plan": plan, "image": self.image, **products}

    @property
    def has_fpu(self) -> bool:
        return has_fpu(self.board.cpu, self.board.fpu)

    def float_use(self, counts: Sequence[int] | None) -> FloatUse:
        """See `cmbuild.pipeline.floats.float_use`."""
        return float_use(self.plan.source, self.plan.record, counts, self.has_fpu)

    def make(self, folder: Path) -> None:
        plan = self.plan.record
        check_sizes(self.board, constants=plan.constant_bytes, arena=plan.arena_bytes)
        self.link(folder, self.placed_board)
        for launcher in launchers_of(self.board):
            if launcher.moves:
                self.link(folder / launcher.name, self.placed_board.moved(launcher.moves))
        commands = exported(folder, self.entry.folder, self.library.target.isa)
        (folder / COMMANDS).write_text(commands, "utf-8")
        (folder / MODEL).write_text(self.plan.source.model, "utf-8")

    def link(self, folder: Path, board: Board) -> Path:
        """The image, linked in a folder for a board's memory."""
        model, archive = self.plan.entry.folder, self.library.archive
        return self.library.builder.runner(board, archive, model, folder, self.options())

    def options(self) -> Sequence[str]:
        """CMake's variables for the executor."""
        if (hot := self.hot_steps) is None:
            return ()
        return (f"-DCMRT_HOT_STEPS={hot.count}", f"-DCMRT_HOT_BYTES={hot.bytes}")

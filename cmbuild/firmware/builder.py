"""Libraries and images: the runtime's CMake projects, configured and built."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.boards.link_script import has_own_script, link_script
from cmbuild.errors import NotWritable, ProcessFailed, UsageError
from cmbuild.firmware.capacity import DoesNotFit
from cmbuild.hardware.registry import write_products
from cmbuild.image.checks import check_placement
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.registry import simulated_memory
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import Toolchain, fpus, has_stack_limit
from cmbuild.toolchain.tools import CMAKE, NINJA, find_program
from cmcompiler.target import Target

LIBRARY = "libcmrt.a"

_EXPORT = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"

# A compiler that takes this long for a few files hangs.
_TIMEOUT = 600.0


_UNFIT = re.compile(r"""["$%;\[\\|\n]""")
"""Characters that CMake, ninja or a linker does not accept in a path."""


class UnfitPath(UsageError):
    template = "{path} has a {character!r}; CMake cannot build in such a folder"
    hint = NotWritable.hint


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds for one target with one toolchain; the only user of CMake for the runtime.

    Attributes:
        kernels: folder with kernels besides the runtime's own.
    """

    processes: Processes
    toolchain: Toolchain
    target: Target
    kernels: Path | None = None

    def library(self, folder: Path) -> Path:
        """The runtime library: kernels, microkernels and the runner's support code.

        Args:
            folder: where CMake works and the library will be.

        Raises:
            UnfitPath, MissingTool, ProcessFailed.
        """
        self._cmake(paths.runtime(), folder, [])
        return folder / LIBRARY

    def runner(
        self,
        board: Board,
        library: Path,
        model: Path,
        folder: Path,
        executor: Sequence[str] = (),
    ) -> Path:
        """The image that runs one model on a board.

        Args:
            library: built by the same builder.
            model: folder of the emitted model.
            folder: where CMake works and the image will be.
            executor: CMake's variables for another executor than the static one.

        Raises:
            DoesNotFit: naming the region and by how much.
            UnfitPath, MissingTool, ProcessFailed, OutsideMemory.
        """
        options = [f"-DCMRT_MODEL={model.absolute()}", _EXPORT, *executor]
        return self._image("runner", board, library, folder, options)

    def kernel_harness(self, board: Board, library: Path, folder: Path) -> Path:
        """The image with all kernels, which runs batches of programs.

        Raises:
            UnfitPath, MissingTool, ProcessFailed, OutsideMemory.
        """
        return self._image("kernel_harness", board, library, folder, [])

    def _image(
        self, project: str, board: Board, library: Path, folder: Path, options: Sequence[str]
    ) -> Path:
        """
        Raises:
            DoesNotFit, UnfitPath, MissingTool, ProcessFailed, OutsideMemory.
        """
        folder.mkdir(parents=True, exist_ok=True)
        arguments = [
            *options,
            f"-DCMRT_BOARD={board.folder}",
            f"-DCMRT_LIBRARY={library.absolute()}",
        ]
        if board.layout is not None:
            script = link_script(board, folder, simulated_memory(board))
            arguments.append(f"-DCMRT_LINK_SCRIPT={script.absolute()}")
        image = folder / (project if self.toolchain.is_host else f"{project}.elf")
        problem = None
        try:
            self._cmake(paths.runtime() / project, folder, arguments, (board.folder, library))
            if board.layout is not None and board.stack is None and not has_own_script(board):
                stack, problem = _stack(image, board)
                board = replace(board, stack=stack)
                link_script(board, folder, simulated_memory(board))
                self._ninja(folder)
        except ProcessFailed as error:
            raise (_overflow(folder / "build.log", board, project) or error) from error
        record = ImageRecord.of(image, problem)
        check_placement(image, record, board)
        record.write(folder)
        write_products(image, board)
        return image

    def _cmake(
        self, source: Path, folder: Path, options: Sequence[str], places: Sequence[Path] = ()
    ) -> None:
        """
        Args:
            places: paths in the options.
        """
        for place in (source, folder, *filter(None, (self.kernels, *places))):
            if unfit := _UNFIT.search(str(place.absolute())):
                raise UnfitPath(path=place, character=unfit[0])
        folder.mkdir(parents=True, exist_ok=True)
        cmake, ninja = find_program(CMAKE), find_program(NINJA)
        configure: list[str | Path] = [
            *(cmake, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"),
            *("-S", source, "-B", folder),
            *self.toolchain.cmake(self.target),
            *([] if self.kernels is None else [f"-DCMRT_KERNELS={self.kernels.absolute()}"]),
            *options,
        ]
        self._run(configure, log=folder / "configure.log")
        self._ninja(folder)

    def _ninja(self, folder: Path) -> None:
        self._run([find_program(NINJA), "-C", folder], log=folder / "build.log")

    def _run(self, command: Sequence[str | Path], log: Path) -> None:
        self.processes.run(command, log=log, timeout=_TIMEOUT, env=self.toolchain.environment)


def _stack(image: Path, board: Board) -> tuple[int, str | None]:
    """The most that an image needs; else the number that is assumed, and why."""
    from cmbuild.image.stack_depth import UnknownDepth, stack_need

    try:
        return stack_need(
            image,
            has_limit=has_stack_limit(board.cpu),
            has_floats=fpus(board.cpu) != ["none"],
        ), None
    except UnknownDepth as unknown:
        return board.assumed_stack, str(unknown)


def _overflow(log: Path, board: Board, project: str) -> DoesNotFit | None:
    """The overflow that the linker reported, if any."""
    text = log.read_text(errors="replace") if log.exists() else ""
    match = re.search(r"region [`'](\w+)'(?: is full)?:? overflowed by (\d+) bytes", text)
    if (
        match is None or match[1] not in board.regions
    ):  # not every region of a link script is in board.toml
        return None
    region, over = board.regions[match[1]], int(match[2])
    return DoesNotFit(
        what=f"the {project}",
        needed=region.size + over,
        region=region.name,
        board=board.name,
        over=over,
    )

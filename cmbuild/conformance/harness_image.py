"""The image with every kernel, which runs any program on a board without linking."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.folders import CacheFolder, remove
from cmbuild.cache.store import Entry
from cmbuild.pipeline.stages.library import LibraryStage, toolchain_parts
from cmbuild.pipeline.stages.stage import Stage, StageKind

if TYPE_CHECKING:
    from cmbuild.pipeline.pipeline import Pipeline
    from cmbuild.pipeline.request import BoardChoice

SOURCES = ("cmake", "cortexm", "include", "kernels", "libc", "runner", "kernel_harness")
"""Parts of the runtime that are compiled into the image, or determine its content and linking."""


class HarnessStage(Stage):
    """One kernel harness for each library and board; in the cache of the user."""

    kind = StageKind.HARNESS
    verb = "linked"
    shared = True

    def __init__(self, library: LibraryStage, board: Board, folder: Path) -> None:
        """
        Args:
            folder: of all kernel harnesses, in the cache.
        """
        self.name = f"{board.name}-{library.name}"
        self.subject = f"all kernels on {board.name}"
        self.after = (library,)
        self.library = library
        self.board = board
        self._folder = folder

    @classmethod
    def of(cls, pipeline: Pipeline, place: BoardChoice) -> HarnessStage:
        """
        Raises:
            UsageError, BrokenFile: see Pipeline.board_library.
        """
        board, library = pipeline.board_library(place)
        return cls(library, board, CacheFolder.HARNESSES.path)

    def parts(self) -> Mapping[str, Value]:
        return toolchain_parts(self.library.toolchain, self.library.target) | {
            "library": self.library.archive,
            "board": self.board.folder,
            "sources": [paths.runtime() / name for name in SOURCES],
            "kernels": self.library.ops.kernels,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self.name}-{self.fingerprint[:16]}")

    @property
    def image(self) -> Path:
        name = "kernel_harness" if self.library.toolchain.is_host else "kernel_harness.elf"
        return self.entry.folder / name

    def make(self, folder: Path) -> None:
        built = self.library.builder.kernel_harness(
            self.board, self.library.archive, folder / "build"
        )
        shutil.move(built, folder / built.name)
        remove(folder / "build", folder)

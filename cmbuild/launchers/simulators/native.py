"""Images that are programs for this computer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.launchers.base import LauncherTable, ProgramLauncher


@dataclass(frozen=True, slots=True)
class Native(ProgramLauncher):
    """This computer."""

    name = "native"

    @property
    def title(self) -> str:
        return "this computer"

    def find(self) -> Path:
        return Path("/")

    def command(self, program: Path, image: Path, folder: Path, timeout: float) -> list[str]:
        return [str(image)]

    def environment(self) -> Mapping[str, str]:
        # The leak checker needs ptrace, which containers deny; images allocate nothing anyway.
        return {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


class NativeTable(LauncherTable):
    """This computer, for which the image is built."""

    def launcher(self, board: Board) -> Native:
        return Native()


TABLE = NativeTable

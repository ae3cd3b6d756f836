"""Boards, and libraries built once for all tests of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cmbuild.boards.board import Board
from cmbuild.catalog import find_board
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmbuild.toolchain.cmake import Builder
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target


@dataclass(frozen=True)
class Bench:
    """A board with the library for one of its instruction sets."""

    board: Board
    builder: Builder
    library: Path

    @property
    def launcher(self) -> Launcher:
        return next(x for x in launchers_of(self.board) if x.name in ("qemu", "native"))


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Bench]:
    """bench("corstone300", "mve"): made when it is first asked for."""
    made: dict[tuple[str, str], Bench] = {}

    def get(name: str, isa: str) -> Bench:
        if (name, isa) not in made:
            folder = tmp_path_factory.mktemp(f"{name}-{isa}")
            board, processes = find_board(name), Processes()
            toolchain = find_toolchain(board.toolchain, processes, folder / "version.log")
            builder = Builder(processes, toolchain, Target.parse(board.cpu, isa))
            made[name, isa] = Bench(board, builder, builder.library(folder))
        return made[name, isa]

    return get

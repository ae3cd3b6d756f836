"""Boards, and libraries built once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from harness.libraries import builder, library

from cmbuild.boards.board import Board
from cmbuild.catalog import find_board
from cmbuild.firmware.builder import Builder
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.registry import launchers_of
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
def bench() -> Callable[[str, str], Bench]:
    """bench("corstone300", "mve")"""

    @cache
    def get(name: str, isa: str) -> Bench:
        board = find_board(name)
        made_by = builder(board.toolchain, Target.parse(board.cpu, isa))
        return Bench(board, made_by, library(made_by))

    return get

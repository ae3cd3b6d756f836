"""Runtime images for tests, rebuilt only when sources change."""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock

from cmbuild.catalog import find_board
from cmbuild.conformance.harness import KernelHarness
from cmbuild.launchers.registry import launchers_of
from cmcompiler.target import Target
from harness.libraries import builder, library

FOLDER = Path(__file__).parents[2] / "build" / "test-images"


def kernel_harness(board_name: str, isa: str, copy: Path) -> KernelHarness:
    """The kernel harness of a board with the library for an instruction set.

    Args:
        copy: where to copy the image, so that the next build does not change it.
    """
    board = find_board(board_name)
    made_by = builder(board.toolchain, Target.parse(board.cpu, isa))
    folder = FOLDER / f"{board_name}-{isa}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        image = made_by.kernel_harness(board, library(made_by), folder)
        file = Path(shutil.copy(image, copy / f"{folder.name}-{image.name}"))
    launcher = next(x for x in launchers_of(board) if x.name in ("qemu", "native"))
    return KernelHarness(made_by.processes, launcher, file)

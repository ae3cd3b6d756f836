"""Executors beside the static one, whose packages contribute the stages of their runners.

`--executor NAME` is a module `cmbuild.NAME.contribution` with a function `runner`: the pipeline
knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from cmbuild.boards.board import Board
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.projects.project import Project


@dataclass(frozen=True, slots=True)
class RunnerParts:
    """All that the pipeline has for the runner of a request.

    Attributes:
        launcher: the one requested to run the image, if any.
        boards: all boards, read as they are asked for.
        folder: of the build.
    """

    request: BuildRequest
    source: ProgramSource
    library: LibraryStage
    board: Board
    launcher: str | None
    boards: Iterable[Board]
    project: Project
    context: WorkContext
    folder: Path


class RunnerMaker(Protocol):
    """Makes the runner of an executor, with the stages before it.

    Raises:
        UsageError: the executor does not support an option of the request.
    """

    def __call__(self, parts: RunnerParts) -> RunnerStage: ...


def contributed(executor: str) -> RunnerMaker:
    """The function of an executor's package that makes its runner."""
    return cast("RunnerMaker", import_module(f"cmbuild.{executor}.contribution").runner)

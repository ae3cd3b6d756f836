"""Requests in which the precision of every module is settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.pipeline.request import (
    NATIVE,
    BoardChoice,
    BuildRequest,
    ModelChoice,
    PackageRequest,
)
from cmcompiler.target import BEST_ISA

if TYPE_CHECKING:
    from cmbuild.mixing.trials import Perform
    from cmbuild.pipeline.pipeline import Pipeline


def settled(request: BuildRequest, pipeline: Pipeline, perform: Perform) -> BuildRequest:
    """The request with the precision that its needs, or those of its project, choose; itself if
    there are none.

    Raises:
        NeedsNotMet: no mix is within them.
        UsageError: needs that do not go with other options.
        CmbuildError, CompilerError: the model cannot be exported or planned.
    """
    if not pipeline.chosen(request.source).needs.options:
        return request
    from cmbuild.mixing.choice import Chooser

    return Chooser(pipeline, pipeline.resolved(request), perform).choose()


def settled_source(
    source: ModelChoice,
    place: str,
    pipeline: Pipeline,
    perform: Perform,
    *,
    build_dir: Path,
    isa: str | None = None,
) -> ModelChoice:
    """A model that is not built, with the precision that its needs choose; raises as `settled`.

    Args:
        place: a board, or a core.
    """
    if not pipeline.chosen(source).needs.options:
        return source
    board = board_like(place) if place in BEST_ISA else place
    chosen = BoardChoice(board=board, isa=isa)
    request = BuildRequest(place=chosen, source=source, build_dir=build_dir)
    return settled(request, pipeline, perform).source


def settled_package(
    request: PackageRequest, pipeline: Pipeline, perform: Perform
) -> PackageRequest:
    """A package's request with the precision that its needs choose, on its board or one with its
    core; raises as `settled`.
    """
    if not pipeline.chosen(request.source).needs.options:
        return request
    place = BoardChoice(board=request.board or board_like(request.target), isa=request.isa)
    build = BuildRequest(
        place=place,
        source=request.source,
        boundary=request.boundary,
        planning=request.planning,
        build_dir=request.build_dir,
    )
    return replace(request, source=settled(build, pipeline, perform).source)


def board_like(cpu: str) -> str:
    """The first board with a core, or else with one of the same instruction set; this computer for
    an unknown one, which others refuse.
    """
    folders = board_folders()
    boards = [board for board in map(find_board, folders) if board.layout is not None]
    same = (board.name for board in boards if board.cpu == cpu)
    alike = (board.name for board in boards if BEST_ISA.get(cpu) is board.isas[0])
    return next(same, None) or next(alike, NATIVE)

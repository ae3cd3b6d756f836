"""Constants that are copied from flash to RAM at start-up, where RAM is to spare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cmbuild.boards.board import Board
from cmbuild.boards.link_script import FILE
from cmbuild.boards.memory import Memory
from cmbuild.cycles.clock import ClockTable

_SPARED = 4
"""A quarter of the RAM stays free: for what the image has besides, and for whoever extends it."""

_SLACK = 64
"""CM_SLACK of cmrt/program.h: vector loads may overrun the last row."""

_CODE = 64 << 10
"""Bytes of flash that code takes at most."""


@dataclass(frozen=True, slots=True)
class HotSteps:
    """The first steps of a program, whose constants are copied where not all have room. In
    convolutional networks they read each of their constants most often.

    Attributes:
        count: of steps.
        bytes: of their constants, and what vector loads read beyond.
    """

    count: int
    bytes: int


def hot_steps(board: Board, *, constants: Sequence[int], arena: int) -> HotSteps | None:
    """The most of the first steps whose constants have room in RAM and a second time in flash; None
    if there are none, or if all constants have.

    Args:
        constants: bytes of those that each step is the first to read, in the order of the program.
        arena: bytes.
    """
    layout, total = board.layout, sum(constants)
    if layout is None or not _gains(board) or with_copies(board, total, arena) != board:
        return None
    room = _room(board, arena)
    if layout.code == layout.constants:
        room = min(room, board.regions[layout.code].size - total - _CODE)
    count = size = 0
    for number, more in enumerate(constants, 1):
        if size + more + _SLACK > room:
            break
        size += more
        count = number
    return HotSteps(count, size + _SLACK) if size else None


def with_copies(board: Board, constants: int, arena: int) -> Board:
    """The board, with a program's constants in RAM if that saves cycles: its core waits for its
    flash, and the RAM of its variables has room for them.

    Args:
        constants: bytes.
        arena: bytes.
    """
    layout = board.layout
    if layout is None or not constants or not _gains(board) or constants > _room(board, arena):
        return board
    if layout.constants != layout.code or (board.folder / FILE).is_file():
        return board
    return replace(board, layout=layout.model_copy(update={"hot_constants": layout.data}))


def _gains(board: Board) -> bool:
    """Whether the core waits for constants, and nobody has placed them otherwise."""
    clock, layout = board.table(ClockTable), board.layout
    if clock is None or clock.flash is None or layout is None or layout.hot_constants is not None:
        return False
    return board.regions[layout.constants].kind is Memory.FLASH


def _room(board: Board, arena: int) -> int:
    """Bytes of the RAM of variables that are to spare."""
    assert board.layout is not None
    size = board.regions[board.layout.data].size
    used = board.assumed_stack + (arena if board.layout.arena == board.layout.data else 0)
    return size - size // _SPARED - used

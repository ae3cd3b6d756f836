"""Constants that are copied from flash to RAM at start-up, where RAM is to spare."""

from __future__ import annotations

from dataclasses import replace

from cmbuild.boards.board import Board
from cmbuild.boards.link_script import FILE
from cmbuild.boards.memory import Memory
from cmbuild.cycles.clock import ClockTable

_SPARED = 4
"""A quarter of the RAM stays free: for what the image has besides, and for whoever extends it."""


def with_copies(board: Board, *, constants: int, arena: int) -> Board:
    """The board, with a program's constants in RAM if that saves cycles: its core waits for its
    flash, and the RAM of its variables has room for them.

    Args:
        constants: bytes.
        arena: bytes.
    """
    clock, layout = board.table(ClockTable), board.layout
    if clock is None or clock.flash is None or layout is None or layout.hot_constants is not None:
        return board
    can_copy = layout.constants == layout.code and not (board.folder / FILE).is_file()
    if not constants or not can_copy or board.regions[layout.code].kind is not Memory.FLASH:
        return board
    needed = constants + board.stack + (arena if layout.arena == layout.data else 0)
    size = board.regions[layout.data].size
    if needed > size - size // _SPARED:
        return board
    return replace(board, layout=layout.model_copy(update={"hot_constants": layout.data}))

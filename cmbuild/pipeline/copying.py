"""Code and constants that are copied from flash to RAM at start-up, where RAM is to spare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cmbuild.boards.board import Board
from cmbuild.boards.link_script import FILE
from cmbuild.boards.memory import Memory
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.flash import CodeRam

_SPARED = 4
"""A quarter of the RAM stays free: for what the image has besides, and for whoever extends it."""

_SLACK = 64
"""CM_SLACK of cmrt/program.h: vector loads may overrun the last row."""

_CODE = 64 << 10
"""Bytes of flash that code takes at most."""

_KERNELS = 32 << 10
"""Bytes that kernels take at most; the zoo's take 6 to 24 KB."""


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


def placed(board: Board, constants: int, arena: int) -> Board:
    """The board with what is copied to RAM: kernels and constants, if both have room; else all
    constants, else kernels.

    Args:
        constants: bytes; 0 to leave them in flash.
        arena: bytes.
    """
    kernels = with_code(board, arena)
    both = with_copies(kernels, constants, arena)
    if both != kernels:
        return both
    all_constants = with_copies(board, constants, arena)
    return kernels if all_constants == board else all_constants


def with_code(board: Board, arena: int) -> Board:
    """The board, with kernels in RAM if its descriptor names such RAM and they have room there."""
    layout, place = board.layout, _code_ram(board)
    if layout is None or place is None or (layout.hot or layout.hot_kernels) or _has_script(board):
        return board
    regions = dict(board.regions)
    if place.origin is not None and place.size is not None:
        ram = regions[layout.data]
        regions[layout.data] = replace(ram, origin=place.origin, size=place.size)
    layout = layout.model_copy(update={"hot_kernels": place.region})
    hot = replace(board, regions=regions, layout=layout)
    return hot if _room(hot, arena) >= 0 else board


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
    if layout.constants != layout.code or _has_script(board):
        return board
    return replace(board, layout=layout.model_copy(update={"hot_constants": layout.data}))


def _gains(board: Board) -> bool:
    """Whether the core waits for constants, and nobody has placed them otherwise."""
    clock, layout = board.table(ClockTable), board.layout
    if clock is None or clock.flash is None or layout is None or layout.hot_constants is not None:
        return False
    return board.regions[layout.constants].kind is Memory.FLASH


def _code_ram(board: Board) -> CodeRam | None:
    clock = board.table(ClockTable)
    return None if clock is None or clock.flash is None else clock.flash.code_ram


def _has_script(board: Board) -> bool:
    return (board.folder / FILE).is_file()


def _room(board: Board, arena: int) -> int:
    """Bytes of the RAM of variables that are to spare."""
    assert board.layout is not None
    size = board.regions[board.layout.data].size
    used = board.assumed_stack + (arena if board.layout.arena == board.layout.data else 0)
    used += _KERNELS if board.layout.hot_kernels == board.layout.data else 0
    return size - size // _SPARED - used

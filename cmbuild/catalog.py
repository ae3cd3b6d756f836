"""All boards, read with the tables that other packages declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from cmbuild.boards import descriptor
from cmbuild.boards.board import Board, BoardTable
from cmbuild.boards.registry import board_folders
from cmbuild.cycles.clock import ClockTable
from cmbuild.errors import CmbuildError, UnknownName
from cmbuild.hardware.registry import TABLE as FLASH
from cmbuild.launchers.registry import TABLE as LAUNCHERS
from cmbuild.zephyr.simulators import ZephyrTable

TABLES: Mapping[str, type[BoardTable]] = {
    table.key: table for table in (LAUNCHERS, FLASH, ZephyrTable, ClockTable)
}


def read_board(folder: Path) -> Board:
    """The board of a folder.

    Raises:
        BrokenFile: naming file, line and key.
    """
    return descriptor.read_board(folder, TABLES)


def find_board(name: str, folders: Mapping[str, Path] | None = None) -> Board:
    """A board by name.

    Args:
        folders: where to look; by default all of board_folders.

    Raises:
        UnknownName: with the nearest known one.
        BrokenFile: its board.toml is not valid.
    """
    if folders is None:
        folders = board_folders()
    if name not in folders:
        raise UnknownName(kind="board", name=name, known=folders)
    return read_board(folders[name])


def readable_boards() -> Iterator[Board]:
    """All boards except those with a broken descriptor."""
    folders = board_folders()
    for name in folders:
        with suppress(CmbuildError):
            yield find_board(name, folders)

"""All boards, read with the tables that other packages declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.boards import descriptor
from cmbuild.boards.board import Board, BoardTable
from cmbuild.boards.registry import FILE, board_folders
from cmbuild.cache.fingerprint import fingerprint
from cmbuild.cache.folders import CacheFolder, remove
from cmbuild.cycles.clock import ClockTable
from cmbuild.errors import CmbuildError, UnknownName
from cmbuild.files import unwritable
from cmbuild.hardware.registry import TABLE as FLASH
from cmbuild.launchers.registry import TABLE as LAUNCHERS
from cmbuild.zephyr.simulators import ZephyrTable

if TYPE_CHECKING:
    from cmbuild.chips.chip import Chip

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
    """A board by name, or by the name of its chip.

    Args:
        folders: where to look; by default all of board_folders.

    Raises:
        UnknownName: with the nearest known one.
        AmbiguousChip, NeedsFlash, NeedsBootStage: a chip that does not make a board.
        BrokenFile: its board.toml is not valid.
    """
    if folders is None:
        folders = board_folders()
    if name not in folders:
        # A run on a board needs no chips.
        from cmbuild.chips.table import UnknownChip, find_chip

        try:
            chip = find_chip(name)
        except UnknownChip:
            raise UnknownName(kind="board", name=name, known=folders) from None
        return read_board(_chip_folder(chip))
    return read_board(folders[name])


def _chip_folder(chip: Chip) -> Path:
    """The folder of a board in the cache, which has nothing but a chip."""
    from cmbuild.boards import template
    from cmbuild.chips import board
    from cmbuild.chips.board import board_name, chip_board
    from cmbuild.launchers import matching

    makers = [Path(str(module.__file__)) for module in (template, board, matching)]
    sources = [template.SKELETON, *makers, *sorted(paths.boards().glob(f"*/{FILE}"))]
    place = CacheFolder.CHIPS.path / fingerprint(chip=repr(chip), sources=sources)
    name = board_name(chip)
    if not (place / name).is_dir():
        try:
            place.mkdir(parents=True, exist_ok=True)
            fresh = Path(mkdtemp(dir=place))
        except OSError as error:
            raise unwritable(place, error) from error
        made = chip_board(name, fresh, chip, shipped_boards())
        with suppress(OSError):  # another process was faster
            made.rename(place / name)
        remove(fresh, place)
    return place / name


def shipped_boards() -> Iterator[Board]:
    """The boards that come with cmbuild."""
    return (read_board(file.parent) for file in sorted(paths.boards().glob(f"*/{FILE}")))


def readable_boards() -> Iterator[Board]:
    """All boards except those with a broken descriptor."""
    folders = board_folders()
    for name in folders:
        with suppress(CmbuildError):
            yield find_board(name, folders)

"""A board of a chip alone: its memory and core, and whatever simulates them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.boards.template import make_board
from cmbuild.chips.chip import Chip
from cmbuild.errors import UsageError
from cmbuild.launchers.matching import launcher_tables

_NEEDS_BOOT_STAGE = "RP2040"
"""RP2040 datasheet, "Flash second stage": its ROM first runs 256 bytes with a checksum."""


class NeedsFlash(UsageError):
    template = "the flash of {name} is a chip of its own, whose size depends on the board"
    hint = "cmbuild new board NAME --chip {name} --flash {origin:#010x}:SIZE"


class NeedsBootStage(UsageError):
    template = "{name} starts images through a second boot stage, which cmbuild does not write"
    hint = (
        "docs/boards.md says how a board brings one; `cmbuild package` makes a library for the"
        " chip's own SDK"
    )


def chip_board(
    name: str,
    place: Path,
    chip: Chip,
    boards: Iterable[Board],
    *,
    flash: Region | None = None,
    ram: Region | None = None,
    fpu: str | None = None,
    hertz: int | None = None,
) -> Path:
    """Writes a board's folder, <place>/<name>, from what is known of its chip.

    Args:
        boards: whose simulators may be used.
        flash, ram, fpu: instead of the chip's.
        hertz: of the core's clock.

    Raises:
        NeedsFlash, NeedsBootStage.
        BadName, Exists, NotWritable, UsageError: see make_board.
    """
    if chip.name.startswith(_NEEDS_BOOT_STAGE):
        raise NeedsBootStage(name=chip.name)
    if flash is None:
        if not chip.has_flash:
            raise NeedsFlash(name=chip.name, origin=chip.flash.origin)
        flash = chip.flash
    others = tuple(region for region in chip.ram[1:] if ram is None or not region.overlaps(ram))
    ram = ram or chip.ram[0]
    return make_board(
        name,
        place,
        cpu=chip.cpu,
        fpu=fpu or chip.fpu,
        flash=flash,
        ram=ram,
        others=others,
        chip=chip.name,
        hertz=hertz,
        launchers=launcher_tables(chip.cpu, (flash, ram), boards),
    )


def board_name(chip: Chip) -> str:
    """The chip's name as that of a board."""
    return re.sub(r"[^a-z0-9_]+", "-", chip.name.lower())

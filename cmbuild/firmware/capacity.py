"""Regions of a board that a program does not fit in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cmbuild.boards.board import Board
from cmbuild.errors import Failed

ARENA = "the arena"


class DoesNotFit(Failed):
    template = "{what} needs {needed:,} bytes in {region} of {board}, {over:,} bytes over"
    hint = "`cmbuild fit MODEL --board {board}` tries what makes it smaller"


@dataclass(frozen=True, slots=True)
class Excess:
    """A part of a program that does not fit a region of a board.

    Attributes:
        needed, over: bytes.
    """

    what: str
    board: str
    region: str
    needed: int
    over: int

    def error(self, detail: str | None = None, **hint: str) -> DoesNotFit:
        """
        Args:
            detail: ends the message.
            hint: `hint=` replaces the error's own.
        """
        what, region = self.what, self.region
        made = DoesNotFit(
            what=what, needed=self.needed, region=region, board=self.board, over=self.over, **hint
        )
        if detail is not None:
            made.message += f"; {detail}"
        return made


def check_sizes(board: Board, *, constants: int, arena: int) -> None:
    """Checks that a plan can fit, before anything is built.

    Raises:
        DoesNotFit: naming the region and by how much.
    """
    for excess in excesses(board, constants=constants, arena=arena):
        raise excess.error()


def excesses(board: Board, *, constants: int, arena: int) -> Iterator[Excess]:
    """The parts of a plan that do not fit, even if nothing else was there."""
    if board.layout is None:
        return
    for what, size, name in (
        (ARENA, arena, board.layout.arena),
        ("the model's constant data", constants, board.layout.constants),
    ):
        room = board.regions[name].size
        if name == board.layout.data:
            room -= board.stack or 0
        if size > room:
            yield Excess(what, board.name, name, size, size - room)

"""The flash methods of a board: those of cmbuild.hardware.methods that its descriptor names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cmbuild import discovery
from cmbuild.boards.board import Board, BoardTable
from cmbuild.errors import CmbuildError, Missing, UnknownName, UsageError
from cmbuild.hardware import methods
from cmbuild.hardware.method import FlashMethod, Selection
from cmbuild.hardware.program_method import ProgramMethod
from cmbuild.image import products
from cmbuild.strictfile import Choices, Inconsistent


class NotFlashed(UsageError):
    template = "firmware cannot be flashed onto {board}: its board.toml has no [flash]"
    hint = 'add one, such as [flash.probe-rs] with chip = "…": docs/flashing.md lists all'


class NoMethod(Missing):
    template = "no flash method is available for {board}: {reasons}"


class FlashTable(Choices, BoardTable):
    """[flash]"""

    key = "flash"

    def check(self, board: Board) -> None:
        if not self.chosen:
            raise Inconsistent((), "is not a flash method")


TABLE = FlashTable.of(discovery.entries(methods, "TABLE"))


def flashing(board: Board) -> Flashing | None:
    """The flash methods of a board; None if it is only simulated."""
    table = board.table(FlashTable)
    return None if table is None else Flashing(table.chosen)


def write_products(image: Path, board: Board) -> None:
    """Writes the files that a board can be flashed with beside an ELF file.

    Raises:
        OutsideFlash: the image has bytes outside the board's flash.
    """
    if (flash := flashing(board)) is None:
        return
    products.write_products(image, board)
    for method in flash.methods.values():
        method.prepare(image)


@dataclass(frozen=True, slots=True)
class Flashing:
    """How a board is flashed.

    Attributes:
        methods: by name, the preferred one first.
    """

    methods: Mapping[str, FlashMethod]

    def possible(self, selection: Selection) -> FlashMethod | None:
        """The first available method."""
        for method in self.methods.values():
            with suppress(CmbuildError):
                method.find(selection)
                return method
        return None

    def choose(self, board: str, name: str | None, selection: Selection) -> FlashMethod:
        """The method with this name, or the first available one.

        Raises:
            UnknownName: the board has no such method.
            NoMethod: none is available; says why.
            UsageError: several boards found, and none selected.
        """
        if name is not None:
            if name not in self.methods:
                raise UnknownName(kind=f"way to flash {board}", name=name, known=self.methods)
            return self.methods[name]
        missing: list[CmbuildError] = []
        for method in self.methods.values():
            try:
                method.find(selection)
            except Missing as error:
                missing.append(error)
            else:
                return method
        raise NoMethod(
            board=board,
            reasons="; ".join(error.message for error in missing),
            hint="; or ".join(str(error.hint) for error in missing),
        )

    def choose_server(
        self, board: str, name: str | None, selection: Selection
    ) -> ProgramMethod | None:
        """As choose, among the methods whose programs are gdb servers; None if there are none."""
        able = {
            each: method
            for each, method in self.methods.items()
            if isinstance(method, ProgramMethod) and method.gdb_server(0, selection) is not None
        }
        if not able:
            return None
        chosen = Flashing(able).choose(board, name, selection)
        assert isinstance(chosen, ProgramMethod)
        return chosen

"""Zephyr's names for a board: [zephyr] of its descriptor."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from cmbuild.boards.board import Board, BoardTable
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.fvp import Fvp
from cmbuild.strictfile import Inconsistent
from cmcompiler.suggest import did_you_mean


class ZephyrTable(BoardTable):
    """[zephyr]

    Attributes:
        simulators: Zephyr's name for the board, by the launcher that simulates it.
    """

    key = "zephyr"

    simulators: dict[str, str] = Field(default_factory=dict)

    def check(self, board: Board) -> None:
        known = [launcher.name for launcher in launchers_of(board)]
        for name in self.simulators:
            if name not in known:
                key = ("simulators", name)
                raise Inconsistent(key, "no such launcher", did_you_mean(name, known))


def find_fvp(name: str, boards: Iterable[Board]) -> tuple[Fvp | None, str | None]:
    """The FVP that simulates a Zephyr board, and Zephyr's name for the same board in QEMU."""
    for board in boards:
        if (table := board.table(ZephyrTable)) is None:
            continue
        for launcher in launchers_of(board):
            if isinstance(launcher, Fvp) and table.simulators.get(launcher.name) == name:
                return launcher, table.simulators.get("qemu")
    return None, None

"""The launchers of a board: those of cmbuild.launchers.simulators that its descriptor names."""

from __future__ import annotations

from cmbuild import discovery
from cmbuild.boards.board import Board, BoardTable
from cmbuild.boards.memory import Region
from cmbuild.launchers import simulators
from cmbuild.launchers.base import Launcher
from cmbuild.strictfile import Choices, Inconsistent


class LaunchersTable(Choices, BoardTable):
    """[launchers]"""

    key = "launchers"

    def check(self, board: Board) -> None:
        for name, table in self.chosen.items():
            try:
                table.check(board)
            except Inconsistent as error:
                raise Inconsistent((name, *error.key), str(error), error.hint) from error


TABLE = LaunchersTable.of(discovery.entries(simulators, "TABLE"))


def launchers_of(board: Board) -> tuple[Launcher, ...]:
    """Launchers by name, the preferred one first."""
    table = board.table(LaunchersTable)
    if table is None:
        return ()
    launchers = []
    for each in table.chosen.values():
        launchers.append(each.launcher(board))
    return tuple(launchers)


def simulated_memory(board: Board) -> list[Region]:
    """The memory of all simulators of a board."""
    return [region for launcher in launchers_of(board) for region in launcher.memory or ()]

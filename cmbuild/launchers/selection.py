"""Which launcher runs an image for a board on this machine."""

from __future__ import annotations

from cmbuild.boards.board import Board
from cmbuild.errors import Failed, UnknownName
from cmbuild.launchers.base import Launcher, LauncherMissing
from cmbuild.launchers.registry import launchers_of


class NoSimulator(Failed):
    template = "no simulator models the memory and devices of {board}"
    hint = "`cmbuild build` builds its firmware and `cmbuild flash` flashes it"


def choose(board: Board, name: str | None = None) -> Launcher:
    """The launcher with this name, or the first of the board's that is installed.

    Raises:
        UnknownName: the board has no such launcher.
        LauncherMissing: that one is not installed, or none is.
        NoSimulator: the board has none.
    """
    launchers = launchers_of(board)
    if not launchers:
        raise NoSimulator(board=board.name)
    known = {launcher.name: launcher for launcher in launchers}
    if name is not None and name not in known:
        raise UnknownName(kind=f"launcher of {board.name}", name=name, known=known)
    missing: LauncherMissing | None = None
    for launcher in launchers if name is None else [known[name]]:
        try:
            launcher.find()
        except LauncherMissing as error:
            missing = error
        else:
            return launcher
    assert missing is not None
    raise missing

"""Which launcher runs an image of a board on this machine."""

from __future__ import annotations

from dataclasses import replace

from cmbuild.boards.board import Board
from cmbuild.errors import Failed, UnknownName, UsageError
from cmbuild.launchers.base import Launcher, LauncherMissing
from cmbuild.launchers.serial import SerialLine


class NoSimulator(Failed):
    template = "no simulator has the memory and devices of {board}"
    hint = "`cmbuild build` makes its firmware and `cmbuild flash` puts it there"


class NoHardware(UsageError):
    template = "nothing can be run on a real {board}: its board.toml has no [serial]"
    hint = "docs/flashing.md says what that takes"


def hardware(board: Board, port: str | None = None) -> SerialLine:
    """The way to a real board.

    Args:
        port: that it is at; found if None.

    Raises:
        NoHardware, NoPort, SeveralPorts.
    """
    if board.serial is None:
        raise NoHardware(board=board.name)
    line = replace(board.serial, port=port)
    return replace(line, port=str(line.find()))


def choose(board: Board, name: str | None = None) -> Launcher:
    """The launcher of that name, or the first of the board's that this machine has.

    Raises:
        UnknownName: the board has no such launcher.
        LauncherMissing: this machine has not that one, or none at all.
        NoSimulator: there is none for the board.
    """
    if not board.launchers:
        raise NoSimulator(board=board.name)
    known = {launcher.name: launcher for launcher in board.launchers}
    if name is not None and name not in known:
        raise UnknownName(kind=f"launcher of {board.name}", name=name, known=known)
    missing: LauncherMissing | None = None
    for launcher in board.launchers if name is None else [known[name]]:
        try:
            launcher.find()
        except LauncherMissing as error:
            missing = error
        else:
            return launcher
    assert missing is not None
    raise missing

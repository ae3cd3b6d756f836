"""Launchers of real boards: on a serial line, behind a debug probe, or in a rack."""

from __future__ import annotations

from collections.abc import Callable

from cmbuild.boards.board import Board
from cmbuild.errors import UsageError
from cmbuild.hardware.method import Selection
from cmbuild.hardware.port import find_port
from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.flashing import FlashChoice
from cmbuild.hardware.registry import flashing
from cmbuild.launchers.probe import ProbeLine
from cmbuild.launchers.rack import RackLine
from cmbuild.launchers.serial import SerialLine


class NoHardware(UsageError):
    template = "models cannot run on a real {board}: its board.toml has no [serial]"
    hint = "docs/flashing.md explains how to add it"


def hardware(board: Board, port: str | None = None) -> SerialLine:
    """The launcher for a real board.

    Args:
        port: its serial port; found if None.

    Raises:
        NoHardware, NoPort, SeveralPorts.
    """
    if board.uart is None:
        raise NoHardware(board=board.name)
    return SerialLine(board.uart.baud, board.uart.usb, port or find_port(board.uart.usb))


class NoProbe(UsageError):
    template = "{board} has no debug probe: no [flash.probe-rs], [flash.pyocd] or [flash.openocd]"
    hint = "docs/flashing.md explains how to add one"


def probe(board: Board, method: str | None, selection: Selection) -> ProbeLine:
    """The launcher for a real board behind a debug probe.

    Args:
        method: of the board's flash methods; the first one available if None.

    Raises:
        NoProbe: the board has no method with a gdb server.
        UnknownName, NoMethod: see Flashing.choose.
    """
    flash = flashing(board)
    chosen = None if flash is None else flash.choose_server(board.name, method, selection)
    if chosen is None:
        raise NoProbe(board=board.name)
    return ProbeLine(board.name, chosen, selection)


def rack(
    board: Board,
    address: RackAddress,
    method: str | None,
    selection: Selection,
    note: Callable[[str], None],
) -> RackLine:
    """The launcher for a real board in a rack; see RackLine.

    Args:
        method, selection: see `probe`.

    Raises:
        NoHardware.
    """
    if board.uart is None:
        raise NoHardware(board=board.name)
    choice = FlashChoice(method, selection)
    return RackLine(address, board, SerialLine(board.uart.baud), choice, note)

"""Debugs a model's image: a simulator or probe that waits for gdb, and gdb if installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.boards.board import Board
from cmbuild.cache.folders import remove
from cmbuild.errors import MissingTool, UsageError
from cmbuild.hardware.method import Selection
from cmbuild.hardware.registry import NotFlashed, flashing
from cmbuild.image.console import records
from cmbuild.launchers.base import Debuggable
from cmbuild.launchers.execution import Interface, write_streams
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.selection import choose
from cmbuild.process import Processes
from cmbuild.toolchain import tools

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.reference import ReferenceStage
    from cmbuild.pipeline.stages.runner import RunnerStage

GDBS = ("arm-none-eabi-gdb", tools.GDB.name)
"""Debuggers for Arm cores, by their names on PATH."""


class NoServer(UsageError):
    template = "{launcher} does not have a gdb server"
    hint = "--launcher qemu, on a board that supports it: see `cmbuild boards`"


@dataclass(frozen=True, slots=True)
class Server:
    """A program that waits for gdb to control an image.

    Attributes:
        machine: its description, for people.
        folder: its working folder.
        port: on this machine, where it listens.
        setup: gdb's commands after connecting.
    """

    machine: str
    command: Sequence[str | Path]
    folder: Path
    image: Path
    port: int
    setup: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    def gdb(self, program: Path | str) -> list[str]:
        """The command line of a debugger."""
        commands = (f"target extended-remote {self.address}", *self.setup)
        return [str(program), str(self.image), *(w for line in commands for w in ("-ex", line))]


def launcher_with_server(board: Board, name: str | None = None) -> Debuggable:
    """The launcher with this name, or the board's first, that can wait for gdb.

    Raises:
        NoServer: none has a gdb server.
        UnknownName, LauncherMissing: see `choose`.
    """
    known = launchers_of(board) if name is None else [choose(board, name)]
    for launcher in known:
        if isinstance(launcher, Debuggable):
            launcher.find()
            return launcher
    raise NoServer(launcher=name or board.name)


def simulator(
    launcher: Debuggable, runner: RunnerStage, reference: ReferenceStage, folder: Path, port: int
) -> Server:
    """A launcher that loads an image beside its samples; see `launcher_with_server`.

    Args:
        folder: gets the image's streams; emptied before.
    """
    from cmbuild.verify.comparison import Comparison

    remove(folder, folder.parent)
    write_streams(folder, Interface.of(runner.plan.record), Comparison(reference).request())
    image = runner.placed(launcher).file
    command = launcher.debug_command(launcher.find(), image, folder, port)
    return Server(launcher.title, command, folder, image, port)


def probe(board: Board, image: Path, method: str | None, selection: Selection, port: int) -> Server:
    """A debug probe at a real board, onto which gdb loads the image.

    Args:
        method: of the board's flash methods; the first available one if None.

    Raises:
        NotFlashed, UnknownName, NoMethod, MissingTool.
    """
    flash = flashing(board)
    chosen = None if flash is None else flash.choose_server(board.name, method, selection)
    if chosen is None:
        raise NotFlashed(board=board.name)
    command = [str(chosen.find(selection)), *(chosen.gdb_server(port, selection) or ())]
    machine = f"{board.name} through {chosen.name}"
    return Server(machine, command, image.parent, image, port, setup=("load",))


def find_gdb(name: str | None = None) -> Path | None:
    """A debugger by name or path; by default the first of GDBS on PATH, or None.

    Raises:
        MissingTool: the named one is not installed.
    """
    if name is None:
        return next(filter(None, map(tools.find, GDBS)), None)
    program = shutil.which(name)
    if program is None:
        raise MissingTool(tool=name, hint=tools.install_command(tools.GDB))
    return Path(program)


def debug(
    processes: Processes,
    server: Server,
    log: Path,
    gdb: Path | None = None,
    *,
    started: Callable[[], None],
) -> None:
    """Starts a server and lets gdb control it; returns when either ends.

    Args:
        log: gets the server's output.
        gdb: None to wait for another debugger on the port.
        started: called once the server has started.

    Raises:
        MissingTool, ProcessFailed, Interrupted.
    """
    with processes.background(
        server.command, log=log, name=server.machine, cwd=server.folder
    ) as wait:
        started()
        if gdb is not None:
            processes.foreground(server.gdb(gdb), cwd=Path.cwd())
            return
        completed = wait()
        # The status is the image's; a server that could not start prints only the reason.
        if completed.status != 0 and not records(completed.output.splitlines()):
            raise completed.failure(server.machine)

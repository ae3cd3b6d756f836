"""Whether this machine can run, flash and build for a board, or why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.errors import CmbuildError, MissingTool
from cmbuild.hardware.method import Selection
from cmbuild.hardware.registry import flashing
from cmbuild.launchers.registry import launchers_of
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import CROSS, HOST, TOOLCHAINS, cpu_flags
from cmcompiler.target import Target


@dataclass(frozen=True, slots=True)
class Availability:
    """A way to run, flash or build for a board.

    Attributes:
        name: as in options: `qemu`, `probe-rs`, `gcc`.
        title: for people.
        place: the program, port or volume; None if not available.
        problem: why it is not available.
        hint: what would make it available.
        caveat: how its machine differs from the board.
        flags: of a compiler, for the board's best instruction set.
    """

    name: str
    title: str
    place: Path | None = None
    problem: str | None = None
    hint: str | None = None
    caveat: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return self.problem is None


def runners(board: Board) -> Iterator[Availability]:
    """Its launchers."""
    for each in launchers_of(board):
        yield _tried(Availability(each.name, each.title, caveat=each.caveat), each.find)


def flashers(board: Board) -> Iterator[Availability]:
    """Its flash methods."""
    flash = flashing(board)
    for method in flash.methods.values() if flash is not None else ():
        yield _tried(Availability(method.name, method.name), partial(method.find, Selection()))


def builders(board: Board) -> Iterator[Availability]:
    """Toolchains that build for it, its own first."""
    others = () if board.toolchain == HOST else (n for n in CROSS if n != board.toolchain)
    for name in (board.toolchain, *others):
        yield _builder(name, Target(board.cpu, board.isas[0], board.fpu))


def _builder(name: str, target: Target) -> Availability:
    tool = TOOLCHAINS[name].compiler
    flags: tuple[str, ...] = ()
    with suppress(MissingTool):  # CMake knows them
        flags = () if name == HOST else tuple(cpu_flags(name, target))
    place = tools.find_tool(tool)
    version = None if place is None else tools.version(place, *tool.asking)
    title = " ".join(filter(None, (name, version)))
    if place is None:
        wrong: str | None = f"{tool.name} not found"
    else:
        wrong = tools.problem(tool, place, version)
    if wrong is None:
        return Availability(name, title, place, flags=flags)
    hint = tools.install_command(tool)
    return Availability(name, title, problem=wrong, hint=hint, flags=flags)


def _tried(means: Availability, find: Callable[[], Path]) -> Availability:
    try:
        return replace(means, place=find())
    except CmbuildError as error:
        return replace(means, problem=error.message, hint=error.hint)

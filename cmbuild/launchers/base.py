"""The base of all launchers: runs an image, and checks that it ran to its proper end."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.errors import Failed, Missing
from cmbuild.image import elf
from cmbuild.image.console import PREFIX, ConsoleRecord, records
from cmbuild.launchers.fault import Fault, fault
from cmbuild.process import Completed, Processes
from cmbuild.strictfile import Table


class LauncherMissing(Missing):
    template = "{launcher} not found"


class Silent(Failed):
    template = "{machine} printed nothing and {outcome}"
    hint = "an image prints a record as soon as it runs, so this one did not start; see {log}"


class EndedEarly(Failed):
    template = "{machine} {outcome} before the image ended: {detail}"
    hint = "the full output is in {log}"


class Refused(Failed):
    template = "{machine}: {reason}"
    hint = "the full output is in {log}"


@dataclass(frozen=True, slots=True)
class ProperRun:
    """An image that ran to its proper end.

    Attributes:
        records: what it reported.
        seconds: wall time.
        log: everything that it and the simulator printed.
    """

    records: tuple[ConsoleRecord, ...]
    seconds: float
    log: Path


class Launcher(ABC):
    """A way to execute an image. Subclasses are frozen dataclasses of the board's parameters.

    Attributes:
        name: its key in a board's descriptor.
        caveat: how its machine differs from the board; shown beside all of its figures.
        moves: the board's regions that its machine has elsewhere: their first address there, by
            name. It executes an image of its own, which is linked for those.
    """

    name: ClassVar[str]
    caveat: str | None = None
    moves: Mapping[str, int] = MappingProxyType({})

    @property
    def provenance(self) -> str:
        """How it counts instructions, for people."""
        return "not counted"

    @property
    @abstractmethod
    def title(self) -> str:
        """The machine that the image runs on, for people: `QEMU mps3-an547`."""

    @property
    def memory(self) -> Sequence[Region] | None:
        """Its memory; None if it is the board's own, or unknown."""
        return None

    @abstractmethod
    def find(self) -> Path:
        """The program that executes images, or the port of a board.

        Raises:
            LauncherMissing: it is not installed; the hint says how to install it.
        """

    def check(self, processes: Processes, logs: Path) -> None:  # noqa: B027  # most need nothing
        """Checks what would make a run fail, before anything is built for it.

        Args:
            logs: folder for what is printed.

        Raises:
            CmbuildError: what lacks.
        """

    def instructions(self, ticks: int) -> int | None:
        """Ticks of the board's clock as instructions; None if they cannot be converted."""
        return None

    @property
    def seconds_per_byte(self) -> float:
        """How long the transfer of a byte of input or output takes, if that matters."""
        return 0.0

    @property
    def unit(self) -> str:
        """The unit of `instructions`; hardware counts `cycles`."""
        return "instructions"

    @abstractmethod
    def run(
        self, processes: Processes, image: Path, folder: Path, *, timeout: float, log: Path
    ) -> ProperRun:
        """Executes an image to its end.

        Args:
            image: the ELF file.
            folder: private working folder, where the image's streams are files.
            timeout: seconds after which it is stopped.
            log: gets everything that is printed; kept.

        Raises:
            LauncherMissing, TimedOut, Interrupted.
            Fault: the image ran into a fault; says where.
            Silent, EndedEarly: it ended without a final record.
            Refused: it ended properly, but reported that it could not do its work.
        """


class LauncherTable(Table, ABC):
    """[launchers.NAME] of a descriptor."""

    def check(self, board: Board) -> None:
        """Raises Inconsistent if the launcher cannot simulate this board."""

    @abstractmethod
    def launcher(self, board: Board) -> Launcher:
        """The launcher of a board whose descriptor has this table."""


class ProgramLauncher(Launcher):
    """A launcher that runs a program on this machine, which executes the image."""

    @abstractmethod
    def command(self, program: Path, image: Path, folder: Path, timeout: float) -> list[str]:
        """The command line that executes an image whose streams are the files of a folder."""

    def environment(self) -> Mapping[str, str]:
        """Environment variables that the program needs."""
        return {}

    def run(
        self, processes: Processes, image: Path, folder: Path, *, timeout: float, log: Path
    ) -> ProperRun:
        program = self.find()
        completed = processes.run(
            self.command(program, image.absolute(), folder.absolute(), timeout),
            cwd=folder,
            log=log,
            timeout=timeout,
            env=self.environment(),
            check=False,
            name=self.title,
        )
        return conclude(self.title, image, completed)


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """The block counts that a run should take, and the file for them.

    Attributes:
        output: the file; cmbuild/cycles/profile.py reads it.
        mark: address of the function whose calls separate segments.
        last: address of the function whose second call ends the counting.
        library: the compiled counter: of everything in a program that loads plugins, else of reads
            of flash; None where neither is wanted.
        chip: the flash whose reads are counted, as the library takes it; None to count none.
    """

    output: Path
    mark: int
    last: int
    library: Path | None = None
    chip: str | None = None


class Profiled(ProgramLauncher):
    """A launcher that can count the blocks of instructions that it executes.

    Attributes:
        loads_plugin: whether its program needs a library for that, compiled for it.
    """

    loads_plugin: ClassVar[bool] = False

    @abstractmethod
    def counting(self, counts: BlockCounts) -> Profiled:
        """This launcher, set to count blocks."""


class Debuggable(ProgramLauncher):
    """A launcher whose program has a gdb server."""

    @abstractmethod
    def debug_command(self, program: Path, image: Path, folder: Path, port: int) -> list[str]:
        """The command line that loads an image and waits for gdb before its first instruction.

        Args:
            port: on this machine, where gdb will connect.
        """


def caveat_of(cpu: str, model: str) -> str:
    """`M85 image on an M55 model`"""
    image, machine = (core.removeprefix("cortex-").upper() for core in (cpu, model))
    return f"{image} image on an {machine} model"


def conclude(machine: str, image: Path, completed: Completed) -> ProperRun:
    """How the image ended that a process executed. Exit status alone proves nothing: a simulator
    reduces the guest's status modulo 256, or exits with 0 whatever happened.
    """
    lines = completed.log.read_text(errors="replace").splitlines()
    written = records(lines)
    outcome = "ended" if completed.status == 0 else completed.outcome
    said: dict[str, object] = {"machine": machine, "outcome": outcome, "log": completed.log}
    if any(record.kind == "fault" for record in written):
        raise fault(machine, written, elf.Symbols.read(image), image, completed.log)
    if report := _sanitizer(lines):
        raise Fault(machine=machine, what=report, image=image, log=completed.log)
    for record in written:
        if record.kind == "error":
            raise Refused(reason=" ".join(record.words), **said)
    status = written[-1].status if written else None
    if status is None:
        rest = [line for line in lines if line.strip() and not line.startswith(PREFIX)]
        if not written and not rest:
            raise Silent(**said)
        complaints = [line for line in rest if re.search("error|fatal", line, re.IGNORECASE)]
        last = f"its last record is {written[-1].kind!r}" if written else rest[-1]
        raise EndedEarly(detail=(complaints or [last])[0], **said)
    if status != 0 or completed.status != 0:
        raise EndedEarly(detail=f"the image's status is {status}", **said)
    return ProperRun(written, completed.seconds, completed.log)


def _sanitizer(lines: Sequence[str]) -> str | None:
    """The line of a sanitizer's report that names the error."""
    for line in lines:
        if line.startswith("SUMMARY: ") and "Sanitizer" in line:
            return line.removeprefix("SUMMARY: ")
    return next((line for line in lines if ": runtime error: " in line), None)

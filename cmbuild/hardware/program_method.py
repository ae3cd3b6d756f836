"""Flash methods that are commands of one program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import ClassVar

from cmbuild.errors import MissingTool
from cmbuild.hardware.method import FlashJob, FlashMethod, Selection
from cmbuild.process import Processes
from cmbuild.toolchain import tools


class ProgramMethod(FlashMethod):
    """A flash method that is commands of one program.

    Attributes:
        program: its name; empty if it is the method's.
        install: the command that installs the program.
    """

    program: ClassVar[str] = ""
    install: ClassVar[str]
    limit = 300.0  # a slow probe writes some 20 KB a second, and boards have a few MB

    @abstractmethod
    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        """Arguments of the program for each command, to flash and start an image."""

    def gdb_server(self, port: int, selection: Selection) -> Sequence[str] | None:
        """Arguments of the program that let gdb control the board by a port of this machine; None
        if it cannot.
        """
        return None

    def find(self, selection: Selection) -> Path:
        program = tools.find(self._program)
        if program is None:
            raise MissingTool(tool=self._program, hint=self.install)
        return program

    def describe(self, job: FlashJob) -> Sequence[str]:
        commands = self.commands(job.image, job.selection)
        lines = [join([self._program, *arguments]) for arguments in commands]
        try:
            self.find(job.selection)
        except MissingTool as error:
            lines.append(f"but {error.message}: {error.hint}")
        return lines

    def flash(self, job: FlashJob, processes: Processes) -> str:
        program = self.find(job.selection)
        for arguments in self.commands(job.image, job.selection):
            processes.run(
                [program, *arguments], log=job.log, timeout=job.timeout, name=self._program
            )
        return f"{job.board.name} through {self._program}"

    @property
    def _program(self) -> str:
        return self.program or self.name


def probe_option(option: str, selection: Selection) -> Sequence[str]:
    """The option that selects a probe, if one is selected."""
    return () if selection.probe is None else (option, selection.probe)

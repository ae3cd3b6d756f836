"""Arm's Fixed Virtual Platforms."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from cmbuild.boards.board import Board
from cmbuild.launchers.base import LauncherMissing, LauncherTable, ProgramLauncher

HOME = "FVP_HOME"

UART_LOG = "uart0.log"
"""A file of a run's folder: the output of the board's first serial port."""

# The host's time limit comes first and reports what happened; this one acts if the host is gone.
_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Fvp(ProgramLauncher):
    """A Fixed Virtual Platform; see FvpTable. Its clock counts simulated time, not instructions."""

    name = "fvp"

    executable: str
    cpu: str
    board: str
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.executable

    def find(self) -> Path:
        if program := shutil.which(self.executable):
            return Path(program)
        if home := os.environ.get(HOME):
            for path in sorted(Path(home).rglob(self.executable)):
                if path.is_file() and os.access(path, os.X_OK):
                    return path.absolute()
        raise LauncherMissing(
            launcher=self.executable,
            hint=f"install it from https://developer.arm.com/downloads/-/arm-ecosystem-fvps and "
            f"put it on PATH, or set {HOME}",
        )

    def command(self, program: Path, image: Path, folder: Path, timeout: float) -> list[str]:
        parameters: dict[str, object] = {
            # Long semihosting command lines are cut off, so images take their arguments from files.
            f"{self.cpu}.semihosting-enable": "1",
            f"{self.cpu}.semihosting-cwd": str(folder),
            f"{self.cpu}.semihosting-cmd_line": image.stem,
            f"{self.board}.uart0.out_file": str(folder / UART_LOG),
            f"{self.board}.uart0.shutdown_on_eot": "1",
            f"{self.board}.visualisation.disable-visualisation": "1",
            f"{self.board}.telnetterminal0.start_telnet": "0",
            **self.parameters,
        }
        options = [word for name, value in parameters.items() for word in ("-C", f"{name}={value}")]
        limit = math.ceil(timeout) + _GRACE_SECONDS
        return [str(program), *options, "--timelimit", str(limit), "-a", str(image)]


def _program_name(text: str) -> str:
    """A path would start a program of the board's author instead of an installed one."""
    if not re.fullmatch(r"\w[\w.+-]*", text):
        raise ValueError(f"expected the name of a program on PATH, not {text!r}")
    return text


class FvpTable(LauncherTable):
    """An Arm Fixed Virtual Platform on `PATH` or below `$FVP_HOME`; it does not count instructions.

    Attributes:
        executable: its file name.
        cpu: prefix of the core's parameters.
        board: prefix of the board's parameters.
        parameters: others, by their full names.
    """

    executable: Annotated[str, AfterValidator(_program_name)]
    cpu: str
    board: str
    parameters: dict[str, int] = Field(default_factory=dict)

    def launcher(self, board: Board) -> Fvp:
        return Fvp(**dict(self))


TABLE = FvpTable

"""Programs that cmbuild calls: where they are, their version, and what to install for them.

Needs only the standard library, since `cmbuildw` uses it on a fresh machine.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import CmbuildError, MissingTool
from cmbuild.process import Processes
from cmcompiler.installation import pip_command

_PROBE_SECONDS = 5.0
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, by its name on PATH.

    Attributes:
        packages: of Debian and Ubuntu that provide it.
        needed_by: what does not work without it.
        oldest: the oldest supported version.
        also: its other names.
        asking: arguments that make it print its version.
        extra: of this project, which installs it with pip.
        check: returns a problem of one that is new enough, or None.
        locate: finds it if it is not on PATH.
    """

    name: str
    packages: tuple[str, ...]
    needed_by: str
    oldest: str = "0"
    also: tuple[str, ...] = ()
    asking: tuple[str, ...] = ("--version",)
    extra: str | None = None
    check: Callable[[Path], str | None] | None = None
    locate: Callable[[], Path | None] | None = None


QEMU = Tool("qemu-system-arm", ("qemu-system-arm",), "boards simulated by QEMU", "6.0")
CMAKE = Tool("cmake", ("cmake",), "every board", "3.25", extra="build")
NINJA = Tool("ninja", ("ninja-build",), "every board", "1.10", extra="build")
GIT = Tool("git", ("git",), "versions with the commit, `cmbuild compare` of revisions")
WEST = Tool("west", (), "`cmbuild zephyr`", "1.0", extra="zephyr")
CCACHE = Tool("ccache", ("ccache",), "tests, which build the same libraries many times")
ZSH = Tool("zsh", ("zsh",), "tests of completion")
FISH = Tool("fish", ("fish",), "tests of completion")
GDB = Tool("gdb-multiarch", ("gdb-multiarch",), "`cmbuild debug`")


def find(name: str) -> Path | None:
    """A program by name: beside the running interpreter, where pip installs it, else on PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    program = beside or shutil.which(name)
    return Path(program) if program else None


def find_program(tool: Tool) -> Path:
    """Raises MissingTool, with the command that installs it."""
    program = find(tool.name)
    if program is None:
        hint = f"{pip_command('build')}, or {install_command(tool)}"
        raise MissingTool(tool=tool.name, hint=hint)
    return program


def find_tool(tool: Tool) -> Path | None:
    """A program by any of its names: the first that is not too old, else the first found."""
    if tool.locate is not None and (located := tool.locate()) is not None:
        return located
    places = [place for name in (tool.name, *tool.also) if (place := find(name)) is not None]
    if len(places) < 2:
        return places[0] if places else None
    good = (place for place in places if problem(tool, place, version(place)) is None)
    return next(good, places[0])


def version(program: Path, *arguments: str) -> str | None:
    """The version number that a program prints; None if it does not run or print one.

    Args:
        arguments: that make it print it, by default `--version`.
    """
    status, output = ask(program, *(arguments or ("--version",)))
    return number(output) if status == 0 else None


def number(output: str) -> str | None:
    """The version in a program's output."""
    # Packagers put numbers of their own in parentheses: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1
    number = _NUMBER.search(re.sub(r"\([^)]*\)", "", output))
    return number.group() if number else None


def problem(tool: Tool, program: Path, found: str | None, *, in_use: bool = True) -> str | None:
    """Why a program cannot be used, or None if it can.

    Args:
        found: its version, from `version`.
        in_use: whether to try it out as well.
    """
    if found is None:
        return "does not run"
    if _numbers(found) < _numbers(tool.oldest):
        return f"too old, needs {tool.oldest}"
    return tool.check(program) if in_use and tool.check is not None else None


def install_command(*tools: Tool) -> str:
    """The command that installs them on Debian and Ubuntu, or with pip, ready to paste."""
    if all(tool.extra and not tool.packages for tool in tools):
        return pip_command(",".join(dict.fromkeys(tool.extra for tool in tools if tool.extra)))
    return apt_command(*(package for tool in tools for package in tool.packages))


def apt_command(*packages: str) -> str:
    """The command that installs packages on Debian and Ubuntu, ready to paste."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)}"


def ask(program: Path, *arguments: str | Path) -> tuple[int, str]:
    """Exit status and output of a short command; -1 if it did not run or end."""
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        log = Path(folder) / "answer"
        processes = Processes()
        try:
            done = processes.run(
                [program, *arguments], log=log, timeout=_PROBE_SECONDS, check=False
            )
        except (CmbuildError, OSError) as error:
            return -1, str(error)
        return done.status, done.output


def _numbers(dotted: str) -> tuple[int, ...]:
    return tuple(int(part) for part in dotted.split(".") if part.isdigit())

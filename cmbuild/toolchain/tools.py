"""Programs that cmbuild calls: where they are, their version, and what to install for them.

Needs the standard library alone, as does what `cmbuildw` asks a fresh machine with it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.errors import CmbuildError
from cmbuild.process import Processes

_PROBE_SECONDS = 5.0
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, as it is named on PATH.

    Attributes:
        packages: Debian's and Ubuntu's that bring it.
        needed_by: what does not work without it.
        oldest: the oldest version that will do.
        also: other names of it.
        asking: arguments that make it tell its version.
        extra: of this project, which brings it through pip.
        check: what is wrong with one that is new enough, or None.
        locate: finds it where it is not on PATH.
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
GIT = Tool("git", ("git",), "versions with the commit")
WEST = Tool("west", (), "`cmbuild zephyr`", "1.0", extra="zephyr")
GDB = Tool("gdb-multiarch", ("gdb-multiarch",), "`cmbuild debug`")


def find(name: str) -> Path | None:
    """A program by name: beside the running interpreter, where pip puts it, else on PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(name)
    return Path(found) if found else None


def find_tool(tool: Tool) -> Path | None:
    """A program by any of its names: the first that is not too old, else the first there is."""
    if tool.locate is not None and (found := tool.locate()) is not None:
        return found
    places = [place for name in (tool.name, *tool.also) if (place := find(name)) is not None]
    if len(places) < 2:
        return places[0] if places else None
    good = (place for place in places if problem(tool, place, version(place)) is None)
    return next(good, places[0])


def version(program: Path, *arguments: str) -> str | None:
    """The dotted number that a program says is its version; None if it does not run or say so.

    Args:
        arguments: what makes it say so, by default `--version`.
    """
    status, output = ask(program, *(arguments or ("--version",)))
    return number(output) if status == 0 else None


def number(output: str) -> str | None:
    """The version in what a program says of itself."""
    # Packagers put numbers of their own in parentheses: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1
    found = _NUMBER.search(re.sub(r"\([^)]*\)", "", output))
    return found.group() if found else None


def problem(tool: Tool, program: Path, found: str | None, *, in_use: bool = True) -> str | None:
    """Why a program cannot serve, or None if it can.

    Args:
        found: its version, as `version` gave it.
        in_use: try it out as well.
    """
    if found is None:
        return "does not run"
    if _numbers(found) < _numbers(tool.oldest):
        return f"too old, needs {tool.oldest}"
    return tool.check(program) if in_use and tool.check is not None else None


def install_command(*tools: Tool) -> str:
    """What brings them on Debian and Ubuntu, or through pip, ready to paste."""
    if all(tool.extra and not tool.packages for tool in tools):
        return pip_command(",".join(dict.fromkeys(tool.extra for tool in tools if tool.extra)))
    packages = " ".join(package for tool in tools for package in tool.packages)
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {packages}"


def pip_command(extra: str) -> str:
    """What adds an extra of cmbuild to the Python that runs, ready to paste."""
    root = paths.checkout()
    wanted = f"cmbuild[{extra}]" if root is None else f"{root}[{extra}]"
    words = [sys.executable, "-m", "pip", "install", *(["-e"] if root else []), wanted]
    return shlex.join(words)


def ask(program: Path, *arguments: str | Path) -> tuple[int, str]:
    """Exit status and output of a short question to a program; -1 if it did not run or end."""
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

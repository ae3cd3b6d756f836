"""Programs that cmbuild calls: where they are, their version, and what to install for them.

Needs the standard library alone: `cmbuildw` asks it what a fresh machine lacks.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable
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
    """

    name: str
    packages: tuple[str, ...]
    needed_by: str
    oldest: str = "0"
    also: tuple[str, ...] = ()
    asking: tuple[str, ...] = ("--version",)


# QEMU has the mps3-an547 machine since 6.0; gcc knows the Cortex-M55 and its MVE since 10.
ARM_GCC = Tool(
    "arm-none-eabi-gcc",
    ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi"),
    "every board but native",
    "10.0",
)
# clang-19 has the Cortex-M52 and M85, and makes good code of MVE intrinsics.
CLANG = Tool(
    "clang",
    ("clang-19", "lld-19", *ARM_GCC.packages),
    "--toolchain clang",
    "19",
    also=tuple(f"clang-{version}" for version in range(22, 18, -1)),
)
ZIG = Tool("zig", (), "--toolchain zig", "0.17", asking=("version",))
ARM_GXX = Tool(
    "arm-none-eabi-g++",
    ("gcc-arm-none-eabi", "libstdc++-arm-none-eabi-newlib"),
    "--executor executorch",
    "10.0",
)
QEMU = Tool("qemu-system-arm", ("qemu-system-arm",), "boards simulated by QEMU", "6.0")
HOST_CC = Tool("cc", ("gcc", "libc6-dev"), "board native")
CMAKE = Tool("cmake", ("cmake",), "every board", "3.25")
NINJA = Tool("ninja", ("ninja-build",), "every board", "1.10")
GIT = Tool("git", ("git",), "versions that name the commit")

WEST = Tool("west", (), "`cmbuild zephyr`", "1.0")
GDB = Tool("gdb-multiarch", ("gdb-multiarch",), "`cmbuild debug`")

FROM_APT = (ARM_GCC, QEMU, HOST_CC)
FROM_PIP = (CMAKE, NINJA)
FOR_TESTS = (CLANG, ARM_GXX)


def find(name: str) -> Path | None:
    """A program by name: beside the running interpreter, where pip puts it, else on PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(name)
    return Path(found) if found else None


def find_tool(tool: Tool) -> Path | None:
    """A program by any of its names: the first that is not too old, else the first there is."""
    if tool is ZIG and (packaged := _packaged_zig()) is not None:
        return packaged
    places = [place for name in (tool.name, *tool.also) if (place := find(name)) is not None]
    if len(places) < 2:
        return places[0] if places else None
    good = (place for place in places if problem(tool, place, version(place)) is None)
    return next(good, places[0])


def _packaged_zig() -> Path | None:
    """The program in PyPI's package `ziglang`, which puts nothing on PATH."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    program = Path(package.origin).parent / "zig"
    return program if program.is_file() else None


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


def problem(tool: Tool, program: Path, found: str | None) -> str | None:
    """Why a program cannot serve, or None if it can.

    Args:
        found: its version, as `version` gave it.
    """
    if found is None:
        return "does not run"
    if _numbers(found) < _numbers(tool.oldest):
        return f"too old, {tool.oldest} is the least"
    if tool is CLANG:
        return _lacks_parts(program)
    if tool is ARM_GXX:
        return _lacks_library(program)
    return _cannot_link(program) if tool is ARM_GCC else None


def install_command(*tools: Tool) -> str:
    """What brings them on Debian and Ubuntu, ready to paste."""
    packages = " ".join(package for tool in tools for package in tool.packages)
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {packages}"


def pip_command(extra: str) -> str:
    """What adds an extra of cmbuild to the Python that runs, ready to paste."""
    root = paths.checkout()
    wanted = f"cmbuild[{extra}]" if root is None else f"{root}[{extra}]"
    words = [sys.executable, "-m", "pip", "install", *(["-e"] if root else []), wanted]
    return shlex.join(words)


def lacking_packages() -> list[str]:
    """Debian's packages for what this machine lacks: FROM_APT, and this Python's `venv`."""
    packages = _packages(FROM_APT)
    if importlib.util.find_spec("ensurepip") is None:
        packages.append(f"python3.{sys.version_info.minor}-venv")
    return packages


def lacking_test_packages() -> list[str]:
    """The same, with what only tests use."""
    return list(dict.fromkeys([*lacking_packages(), *_packages(FOR_TESTS)]))


def lacking_extras() -> list[str]:
    """Extras of this project for what the system's own programs do not offer."""
    return [] if all(map(_usable, FROM_PIP)) else ["build"]


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


def _packages(tools: Iterable[Tool]) -> list[str]:
    return [package for tool in tools if not _usable(tool) for package in tool.packages]


def _usable(tool: Tool) -> bool:
    """Whether one on PATH would do."""
    programs = filter(None, map(shutil.which, (tool.name, *tool.also)))
    return any(problem(tool, Path(each), version(Path(each))) is None for each in programs)


# Debian's compiler comes without newlib, and some toolchains without the core's variant of it.
_PROGRAM = """
#include <arm_mve.h>
#include <math.h>
#include <string.h>
int main(int count, char **words) { return (int)(strlen(words[0]) + sqrtf((float)count)); }
"""


def _cannot_link(gcc: Path) -> str | None:
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        source, image = Path(folder) / "main.c", Path(folder) / "main.elf"
        source.write_text(_PROGRAM)
        core = ("-mcpu=cortex-m55", "-mfloat-abi=hard", "--specs=nosys.specs")
        status, output = ask(gcc, *core, source, "-lm", "-o", image)
    if status == 0:
        return None
    if "No such file" in output or "cannot find" in output:
        return "without newlib"
    return "cannot build for cortex-m55"


def _lacks_library(gxx: Path) -> str | None:
    """Debian's compiler comes without C++'s library."""
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        source = Path(folder) / "main.cpp"
        source.write_text("#include <optional>\n")
        status, _ = ask(gxx, "-std=c++17", "-mcpu=cortex-m55", "-fsyntax-only", source)
    return None if status == 0 else "without libstdc++"


def _lacks_parts(clang: Path) -> str | None:
    """clang comes without a linker and a C library."""
    if not Path(ask(clang, "-print-prog-name=ld.lld")[1].strip()).is_absolute():
        return "without lld"
    core = ("--target=thumb-none-eabi", "-mcpu=cortex-m55")
    libc = ask(clang, *core, "-print-file-name=libc.a")[1].strip()
    if Path(libc).is_absolute() or find(ARM_GCC.name) is not None:
        return None
    return "without a C library: newlib comes with arm-none-eabi-gcc"


def _numbers(dotted: str) -> tuple[int, ...]:
    return tuple(int(part) for part in dotted.split(".") if part.isdigit())

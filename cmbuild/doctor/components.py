"""Which components are installed on this machine, and how to install the others."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from importlib import metadata
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.boards.registry import is_from_project
from cmbuild.catalog import readable_boards
from cmbuild.launchers.base import LauncherMissing
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.fvp import Fvp
from cmbuild.toolchain import tools, versions
from cmbuild.toolchain.compilers.gcc import ARM_GXX
from cmbuild.toolchain.toolchains import CROSS, HOST, TOOLCHAINS
from cmbuild.toolchain.tools import Tool
from cmcompiler.installation import pip_command

SETUP_BYTES = 10 << 30
"""Peak disk space for installing everything, downloads included."""
_WORK_BYTES = 1 << 30


class Status(Enum):
    """Whether a component can be used on this machine."""

    PRESENT = "present"
    OPTIONAL = "optional"
    """Not found or not usable, and not necessary."""
    MISSING = "missing"
    UNUSABLE = "unusable"
    """Found, but too old or broken; `problem` says why."""


@dataclass(frozen=True, slots=True)
class Component:
    """A program or package that cmbuild can use.

    Attributes:
        name: of the program or Python package.
        version: as it reports it; None if not found or not reported.
        path: the program, or the folder of the package; None if not found.
        needed_by: what does not work without it, in words.
        install: the command that installs it, or instructions.
        problem: why it is unusable; otherwise empty.
    """

    name: str
    version: str | None
    path: Path | None
    status: Status
    needed_by: str
    install: str
    problem: str = ""

    @property
    def is_lacking(self) -> bool:
        return self.status in (Status.MISSING, Status.UNUSABLE)


# Packages of the extra `export`, each with what does not work without it.
_EXPORT_PACKAGES = dict.fromkeys(versions.EXPORT_PACKAGES, "export")
_OPTIONAL_PACKAGES = {
    "scikit-learn": "export of digits",
    "pillow": "images as inputs",
}


def components() -> list[Component]:
    """All components, the most important first. Broken boards are left out.

    Takes a few tenths of a second: programs run in parallel, and nothing big is imported.
    """
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda probe: probe(), _probes()))


def _probes() -> Iterator[Callable[[], Component]]:
    boards = list(readable_boards())
    yield _python
    compilers = [TOOLCHAINS[name].compiler for name in CROSS]
    # Zig and Unicorn, which pip installs, do for most boards.
    for tool, instead in ((compilers[0], _has_zig), (tools.QEMU, _has_unicorn)):
        yield partial(_optional if instead() else _tool, tool)
    for tool in (*compilers[1:], ARM_GXX):
        yield partial(_optional, tool)
    yield from (partial(_simulator, title, boards) for title in _platforms(boards))
    yield partial(_optional, TOOLCHAINS[HOST].compiler)
    for tool in (tools.CMAKE, tools.NINJA):
        yield partial(_tool, tool)
    # A set-up without any of them runs programs only, and lacks nothing.
    export = Status.MISSING if _has_export() else Status.OPTIONAL
    for name, needed_by in _EXPORT_PACKAGES.items():
        yield partial(_package, name, needed_by, export)
    for name, needed_by in _OPTIONAL_PACKAGES.items():
        yield partial(_package, name, needed_by, Status.OPTIONAL)
    for tool in (tools.WEST, tools.GIT):
        yield partial(_optional, tool)
    yield _disk


def _platforms(boards: list[Board]) -> list[str]:
    """Titles of the Fixed Virtual Platforms that boards name, except the project's boards: a title
    is a program, which is started to get its version.
    """
    trusted = (board for board in boards if not is_from_project(board.folder))
    launchers = (launcher for board in trusted for launcher in launchers_of(board))
    return sorted({launcher.title for launcher in launchers if isinstance(launcher, Fvp)})


def _python() -> Component:
    version = platform.python_version()
    return Component("python", version, Path(sys.executable), Status.PRESENT, "everything", "")


def _optional(tool: Tool) -> Component:
    """A tool that is needed only on request."""
    component = _tool(tool)
    return replace(component, status=Status.OPTIONAL) if component.is_lacking else component


def _tool(tool: Tool) -> Component:
    install = pip_command(tool.extra) if tool.extra else tools.install_command(tool)
    path = tools.find_tool(tool)
    if path is None:
        return Component(tool.name, None, None, Status.MISSING, tool.needed_by, install)
    version = tools.version(path, *tool.asking)
    problem = tools.problem(tool, path, version) or ""
    status = Status.UNUSABLE if problem else Status.PRESENT
    return Component(tool.name, version, path, status, tool.needed_by, install, problem)


def _simulator(title: str, boards: list[Board]) -> Component:
    """A simulator that no board depends on."""
    users = {b.name: each for b in boards for each in launchers_of(b) if each.title == title}
    needed_by = ", ".join(users)
    try:
        path = next(iter(users.values())).find()
    except LauncherMissing as missing:
        return Component(title, None, None, Status.OPTIONAL, needed_by, missing.hint or "")
    return Component(title, tools.version(path), path, Status.PRESENT, needed_by, "")


def _has_zig() -> bool:
    return tools.find_tool(TOOLCHAINS["zig"].compiler) is not None


def _has_unicorn() -> bool:
    return importlib.util.find_spec("unicorn") is not None


def _has_export() -> bool:
    """Whether this set-up is for exports: at least one of their packages is installed."""
    return any(versions.package(name) is not None for name in _EXPORT_PACKAGES)


def _package(name: str, needed_by: str, otherwise: Status) -> Component:
    install = pip_command("export")
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return Component(name, None, None, otherwise, needed_by, install)
    place = Path(str(distribution.locate_file("")))
    return Component(name, distribution.version, place, Status.PRESENT, needed_by, install)


def _disk() -> Component:
    """The disk with the cache: space for builds, and for the export packages if missing."""
    place = paths.cache()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    complete = versions.package("executorch") is not None or not _has_export()
    enough = free >= (_WORK_BYTES if complete else SETUP_BYTES)
    return Component(
        name="disk",
        version=f"{free / 1e9:.1f} GB free",
        path=place,
        status=Status.PRESENT if enough else Status.UNUSABLE,
        needed_by="builds" if complete else "installing everything (10 GB)",
        install="cmbuild clean --cache",
        problem="" if enough else "nearly full" if complete else "less than 10 GB",
    )

"""A west workspace: its place, its content, and what is missing to build in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.errors import Missing, MissingTool, UnknownName, UsageError
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmcompiler.installation import pip_command

MANIFEST = "west.yml"
RELEASE = "v4.4.0"
"""Zephyr's version, as pinned in zephyr/west.yml."""

_MARK = Path(".west") / "config"
_SECONDS = 60.0
_NAME = re.compile(r"^name:\s*cmbuild\s*$", re.MULTILINE)

# Where Zephyr's build system searches for its SDK.
_SDK_PLACES = ("", ".local", ".local/opt", "bin")


class NoWorkspace(Missing):
    template = "{message}"
    hint = "`cmbuild zephyr init DIR` creates one; --workspace DIR or ZEPHYR_BASE selects another"


class NotUpdated(Missing):
    template = "Zephyr not found in the workspace {folder}"
    hint = "cd {folder} && west update"


class NoSdk(Missing):
    template = "no toolchain for Zephyr found: neither its SDK nor arm-none-eabi-gcc"
    hint = "cd {folder} && west sdk install --toolchains arm-zephyr-eabi"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder managed by west.

    Attributes:
        zephyr_base: Zephyr's folder in it.
        has_cmbuild: whether cmbuild is one of its projects, which Zephyr finds by itself.
    """

    folder: Path
    zephyr_base: Path
    has_cmbuild: bool

    def definitions(self, command: list[str]) -> list[str]:
        """CMake's variables: cmbuild's module, and the command that it calls.

        Args:
            command: words that run cmbuild.
        """
        words = [f"-DCMBUILD_COMMAND={';'.join(command)}"]
        if not self.has_cmbuild:
            words.append(f"-DEXTRA_ZEPHYR_MODULES={paths.data()}")
        return words


def find_west() -> Path:
    """Raises MissingTool if it is not installed."""
    west = tools.find(tools.WEST.name)
    if west is None:
        raise MissingTool(tool="west", hint=pip_command("zephyr"))
    return west


def find_folder(named: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The workspace: named, or the one around $ZEPHYR_BASE or the current folder.

    Raises:
        NoWorkspace: none found.
        UsageError: the named folder does not exist.
    """
    if named is not None:
        if not named.is_dir():
            raise UsageError(
                message=f"no such folder: {named}", hint=f"`cmbuild zephyr init {named}` creates it"
            )
        start, problem = named, f"{named} is not in a west workspace"
    elif base := environ.get("ZEPHYR_BASE"):
        start, problem = Path(base), f"ZEPHYR_BASE, {base}, is not in a west workspace"
    else:
        start = Path.cwd()
        problem = "no Zephyr workspace found from the current folder, and ZEPHYR_BASE is not set"
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / _MARK).is_file():
            return folder
    raise NoWorkspace(message=problem)


def open_workspace(folder: Path, west: Path, processes: Processes, log: Path) -> Workspace:
    """
    Args:
        folder: of the workspace.
        log: gets west's output.

    Raises:
        NotUpdated: it has no Zephyr yet.
        ProcessFailed: west does not understand its manifest.
    """
    words: list[str | Path] = [west, "list", "--format", "{name}={abspath}"]
    asked = processes.run(words, log=log, timeout=_SECONDS, cwd=folder, check=False)
    if asked.status != 0:
        # Zephyr's list of modules is part of the manifest, once Zephyr is there.
        if "failed manifest import" in asked.output:
            raise NotUpdated(folder=folder)
        raise asked.failure("west list")
    projects = dict(
        line.split("=", 1) for line in asked.output.splitlines() if "=" in line.split(" ")[0]
    )
    base = Path(projects.get("zephyr", folder / "zephyr"))
    if not (base / "share" / "zephyr-package").is_dir():
        raise NotUpdated(folder=folder)
    return Workspace(folder, base, any(_is_ours(Path(path)) for path in projects.values()))


def toolchain(folder: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables that let Zephyr's build find a toolchain; none if it finds its SDK.

    Raises:
        NoSdk: no toolchain found.
    """
    if environ.get("ZEPHYR_TOOLCHAIN_VARIANT") or environ.get("ZEPHYR_SDK_INSTALL_DIR"):
        return {}
    home = Path(environ.get("HOME", "/"))
    places = [*(home / place for place in _SDK_PLACES), Path("/opt"), Path("/usr/local"), folder]
    registered = home / ".cmake" / "packages" / "Zephyr-sdk"
    if registered.is_dir() or any(list(place.glob("zephyr-sdk-*")) for place in places):
        return {}
    compiler = tools.find(ARM_GCC.name)
    if compiler is None:
        raise NoSdk(folder=folder)
    return {
        "ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile",
        "CROSS_COMPILE": str(compiler).removesuffix("gcc"),
    }


def samples() -> dict[str, Path]:
    """The samples that come with cmbuild, by name."""
    folder = paths.data() / "zephyr" / "samples"
    return {file.parent.name: file.parent for file in sorted(folder.glob("*/sample.yaml"))}


def find_application(name: str) -> Path:
    """The folder of an application: a sample of cmbuild, or the user's.

    Raises:
        UsageError: no such application.
    """
    known = samples()
    if name in known:
        return known[name]
    folder = Path(name).absolute()
    if (folder / "CMakeLists.txt").is_file():
        return folder
    if folder.is_dir():
        raise UsageError(message=f"{name} is not an application: CMakeLists.txt not found")
    raise UnknownName(kind="sample", name=name, known=known)


def _is_ours(project: Path) -> bool:
    module = project / "zephyr" / "module.yml"
    return module.is_file() and _NAME.search(module.read_text(errors="replace")) is not None

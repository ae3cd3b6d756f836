"""Where boards are found: in the tree, in the project, on a path, in installed packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path

from cmbuild import paths
from cmbuild.errors import UsageError

FILE = "board.toml"

GROUP = "cmbuild.boards"
"""Entry points: each names a package that holds board folders."""


class MissingFolder(UsageError):
    template = "CMBUILD_BOARD_PATH: {folder} is not a folder"


class BrokenPackage(UsageError):
    template = (
        "the entry point {name!r} of {group} names {module!r}, which is not a package: {reason}"
    )
    hint = "repair or uninstall the distribution {distribution}, which provides it"


def board_folders(
    project: Path | None = None, environ: Mapping[str, str] = os.environ
) -> dict[str, Path]:
    """Folders of all boards by name. Earlier places win: project, path, packages, the tree.

    Args:
        project: the folder whose `boards` folder is searched; by default that of the project, or
            the current one.

    Raises:
        MissingFolder: $CMBUILD_BOARD_PATH names a folder that does not exist.
        BrokenPackage: an installed distribution names a package that does not exist.
    """
    folders: dict[str, Path] = {}
    for place in _places(project or _project(), environ):
        for descriptor in sorted(place.glob(f"*/{FILE}")):
            folders.setdefault(descriptor.parent.name, descriptor.parent.resolve())
    return dict(sorted(folders.items()))


def is_from_project(folder: Path, project: Path | None = None) -> bool:
    """Whether a board comes from the project, by default the current one.

    The user may not know of it: someone else may have made the folder.
    """
    own = (project or _project()).resolve() / "boards"
    return folder.parent == own and own != paths.boards()


def _project() -> Path:
    return paths.project_root() or Path.cwd()


def hides_builtin(folder: Path) -> bool:
    """Whether a board replaces one of cmbuild's with the same name."""
    builtin = paths.boards() / folder.name
    return folder != builtin and (builtin / FILE).is_file()


def _places(project: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    yield project / "boards"
    for entry in filter(None, environ.get("CMBUILD_BOARD_PATH", "").split(os.pathsep)):
        if not Path(entry).is_dir():
            raise MissingFolder(folder=entry)
        yield Path(entry)
    for point in _points(tuple(map(_changed, sys.path))):
        yield from _package(point)
    yield paths.boards()


def _changed(folder: str) -> tuple[str, int | None]:
    """An entry of sys.path, and when a package was last installed in it or removed."""
    try:
        return folder, Path(folder).stat().st_mtime_ns
    except OSError:
        return folder, None


@lru_cache(maxsize=1)
def _points(_: tuple[tuple[str, int | None], ...]) -> EntryPoints:
    """Read once for each state of sys.path, since that reads a file of every installed package."""
    return entry_points(group=GROUP)


def _package(point: EntryPoint) -> Iterator[Path]:
    """The folders of a package; one that holds only boards needs no __init__.py, and may then
    consist of several folders.
    """
    spec, reason = None, "it is not installed"
    try:
        spec = find_spec(point.module)
    except Exception as error:  # it imports the enclosing packages, which may raise anything
        reason = f"{type(error).__name__}: {error}"
    if spec is None or spec.submodule_search_locations is None:
        raise BrokenPackage(
            name=point.name,
            group=GROUP,
            module=point.module,
            reason=reason if spec is None else "it is a module",
            distribution=point.dist.name if point.dist is not None else "unknown",
        )
    yield from map(Path, spec.submodule_search_locations)

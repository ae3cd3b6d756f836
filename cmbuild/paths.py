"""Where cmbuild's data is, in a checkout or beside an installed package, and where it writes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from cmcompiler.installation import checkout

PROJECT = "cmbuild.toml"
"""The file of a project."""

PYPROJECT = "pyproject.toml"
"""It may have the project's tables instead, below `[tool.cmbuild]`."""

_PACKAGE = Path(__file__).resolve().parent
_DOCUMENT = re.compile(r"(?<![\w/])docs/([\w/-]+\.md)")
_TABLE = re.compile(rb"^\s*\[+\s*tool\s*\.\s*cmbuild\s*[\].]", re.MULTILINE)


def data() -> Path:
    """The folder that holds `runtime/` and `boards/`; never written to."""
    return checkout() or _PACKAGE / "data"


def runtime() -> Path:
    """The C runtime: sources, CMake project, toolchain files."""
    return data() / "runtime"


def boards() -> Path:
    """The boards that come with cmbuild, one folder each."""
    return data() / "boards"


def documents() -> Path:
    """The documentation, one Markdown file a page."""
    return data() / "docs"


def with_documents(text: str) -> str:
    """A text for users, with the places of the pages that it names: `docs/boards.md`.

    In a checkout, these are the places.
    """
    if checkout() is not None:
        return text
    return _DOCUMENT.sub(lambda page: str(documents() / page[1]), text)


def cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The per-user folder for exports and libraries, shared by all builds.

    `$CMBUILD_CACHE` if set, else `cmbuild` under `$XDG_CACHE_HOME`, else `~/.cache/cmbuild`.
    A relative `$XDG_CACHE_HOME` is ignored, as its specification asks.
    """
    if chosen := environ.get("CMBUILD_CACHE"):
        return Path(chosen).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "cmbuild"


def project_root(start: Path | None = None) -> Path | None:
    """The nearest folder, from the current one upwards, with a project's file.

    The search ends at the first folder of another owner: nobody else's file is found by accident.

    Args:
        start: by default the current folder.
    """
    start = Path.cwd() if start is None else start.absolute()
    owner = start.stat().st_uid if start.is_dir() else None
    for folder in (start, *start.parents):
        if folder != start and folder.stat().st_uid != owner:
            return None
        if (folder / PROJECT).exists() or in_pyproject(folder):
            return folder
    return None


def in_pyproject(folder: Path) -> bool:
    """Whether a folder's pyproject.toml has tables of cmbuild."""
    try:
        return _TABLE.search((folder / PYPROJECT).read_bytes()) is not None
    except OSError:
        return False


def default_build() -> Path:
    """The build folder used without `--build-dir`: `build` in the project, or in the current
    folder where there is none.
    """
    return (project_root() or Path.cwd()) / "build"

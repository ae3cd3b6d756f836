"""Where cmbuild's data is, in a checkout or beside an installed package, and where it writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The checkout that this package runs from, or None when it was installed from a wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "runtime").is_dir() else None


def data() -> Path:
    """The folder that holds `runtime/` and `boards/`; never written to."""
    return checkout() or _PACKAGE / "data"


def runtime() -> Path:
    """The C runtime: sources, CMake project, toolchain files."""
    return data() / "runtime"


def boards() -> Path:
    """The boards that come with cmbuild, one folder each."""
    return data() / "boards"


def cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The per-user folder for exports and libraries, shared by all builds.

    `$CMBUILD_CACHE` if set, else `cmbuild` under `$XDG_CACHE_HOME`, else `~/.cache/cmbuild`.
    A relative `$XDG_CACHE_HOME` is ignored, as its specification asks.
    """
    if chosen := environ.get("CMBUILD_CACHE"):
        return Path(chosen).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "cmbuild"


def default_build() -> Path:
    """The build folder used without `--build-dir`: `build` in the current folder."""
    return Path.cwd() / "build"

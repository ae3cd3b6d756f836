"""Every folder below the cache of the user, and how builds are laid out below a build folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from cmbuild import paths
from cmbuild.files import unwritable
from cmcompiler.importer.suffixes import MODELS

LOCK = ".lock"
"""The lock file of a build, in its folder <model>/<place>."""

_LONGEST_NAME = 100  # a file name has 255 bytes; targets, digests and suffixes follow


class CacheFolder(Enum):
    """The parts of the cache; each can be rebuilt."""

    EXPORTS = "exports"
    LIBRARIES = "libraries"
    HARNESSES = "harnesses"
    REFERENCES = "references"
    FLOATS = "floats"
    EXECUTORCH = "executorch"
    FITS = "fits"
    PLUGINS = "plugins"
    ZIG = "zig"
    CHIPS = "chips"
    LOGS = "logs"

    @property
    def path(self) -> Path:
        return paths.cache() / self.value


def ledger() -> Path:
    """Digests of what cmbuild wrote into users' folders: kept when the cache is cleaned."""
    return paths.cache() / "written"


def slug(model: str) -> str:
    """A model's name as a folder name: `nets/tiny.py:make` is `tiny-make`.

    Any text gives the name of a folder: never an empty or hidden one, nor a folder above.
    """
    path, _, function = model.rpartition(":") if ".py:" in model else (model, "", "")
    stem = Path(path).stem if Path(path).suffix in MODELS else path
    name = re.sub(r"[^\w.-]+", "_", f"{stem}-{function}" if function else stem).lstrip(".")
    return name[:_LONGEST_NAME] or "model"


def below(root: Path, *names: str) -> Path:
    """A folder below another one, each step a plain name.

    Raises:
        ValueError: a name that leads elsewhere.
    """
    for name in names:
        if name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a folder")
    return root.joinpath(*names)


def remove(folder: Path, root: Path) -> None:
    """Removes a folder, if it exists: the only place that removes one with its content.

    Args:
        root: the cache, a build or an entry; nothing outside is touched.

    Raises:
        ValueError: the folder does not lie below it.
        NotWritable: it cannot be removed.
    """
    whole = folder.parent.resolve() / folder.name
    if folder.name in ("", "..") or root.resolve() not in whole.parents:
        raise ValueError(f"{folder} is not below {root}")
    try:
        shutil.rmtree(whole)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(folder, error) from error


def builds(build_dir: Path) -> Iterator[Path]:
    """The folders <model>/<place> with a lock file, which every build has."""
    return (lock.parent for lock in sorted(build_dir.glob(f"*/*/{LOCK}")))

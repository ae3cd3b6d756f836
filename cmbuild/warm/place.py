"""Where the process that exports for all commands of a user listens, and for whom."""

from __future__ import annotations

import hashlib
import os
import resource
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

SWITCH = "CMBUILD_WARM"
"""`off`: every export imports torch for itself, and leaves no process behind."""

_LONGEST = 100  # bytes of a socket's path, of the 107 that Linux takes
_PACKAGES = ("cmbuild.warm", "cmcompiler")
# Variables that libraries read as they are imported; all others reach each export.
_READ_EARLY = (
    *("PYTHON", "LD_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_", "TORCH", "PYTORCH"),
    *("ATEN_", "CUDA_", "EXECUTORCH_", "LC_", "LANG", "TZ", "HOME", "TMPDIR", "PATH"),
)
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
_NAMESPACES = ("mnt", "net", "pid", "user")


@dataclass(frozen=True, slots=True)
class WarmPlace:
    """A socket in a folder that only its user can enter.

    Attributes:
        key: of what an export inherits from the process that has imported torch; an export of other
            packages, variables or limits is not made there.
    """

    socket: Path
    key: str


def shared_place(environ: Mapping[str, str] = os.environ) -> WarmPlace | None:
    """None where exports are to be made by a process of their own."""
    if environ.get(SWITCH) == "off" or (environ.get("CI") and SWITCH not in environ):
        return None
    folder = _private_folder(environ)
    if folder is None or len(os.fsencode(folder / "exports.new")) > _LONGEST:
        return None
    return WarmPlace(folder / "exports", _key(environ))


def _private_folder(environ: Mapping[str, str]) -> Path | None:
    """None if it is not, or not only, this user's."""
    base = Path(environ.get("XDG_RUNTIME_DIR", ""))
    own = base.is_absolute() and _is_private(base)
    folder = base / "cmbuild" if own else Path(gettempdir()) / f"cmbuild-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder if _is_private(folder) else None
    return None


def _is_private(folder: Path) -> bool:
    try:
        state = folder.lstat()
    except OSError:
        return False
    is_own = state.st_uid == os.getuid() and not state.st_mode & 0o077
    return stat.S_ISDIR(state.st_mode) and is_own


def _key(environ: Mapping[str, str]) -> str:
    total = hashlib.sha256()
    for part in _inherited(environ):
        total.update(f"{part}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def _inherited(environ: Mapping[str, str]) -> Iterator[object]:
    yield sys.executable
    for folder in filter(None, sys.path):
        yield folder
        with suppress(OSError):
            # The names of installed packages' folders of metadata have their versions.
            yield sorted(entry.name for entry in os.scandir(folder))
    for package in _PACKAGES:
        yield from _sources(package)
    yield sorted(item for item in environ.items() if item[0].startswith(_READ_EARLY))
    yield [resource.getrlimit(limit) for limit in _LIMITS]
    yield sorted(os.sched_getaffinity(0)), sorted(os.getgroups()), os.getgid()
    for name in _NAMESPACES:
        with suppress(OSError):
            yield Path(f"/proc/self/ns/{name}").readlink()


def _sources(package: str) -> Iterator[object]:
    spec = find_spec(package)
    for root in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(root).rglob("*.py")):
            state = path.stat()
            yield path, state.st_size, state.st_mtime_ns

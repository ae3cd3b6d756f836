"""package.json: what a package is, and the checksums of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from cmbuild.errors import UsageError
from cmbuild.files import unwritable

MANIFEST = "package.json"


class ChangedPackage(UsageError):
    template = "{file} belongs to an earlier package and has been changed since"
    hint = "remove it, or name another folder"


class Manifest(BaseModel):
    """package.json.

    Attributes:
        cmbuild: the version that made it.
        model: prefix of the emitted symbols.
        identity: of program and plan, as the firmware reports it.
        target, isa: what it was planned for; the build must have kernels for exactly this `isa`.
        needs_float: whether it calls kernels that compute in float.
        samples: test vectors.
        versions: of the packages that exported the program; empty for the user's own `.pte`.
        files: SHA-256 of each other file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cmbuild: str
    model: str
    identity: str
    target: str
    isa: str
    needs_float: bool
    samples: int
    versions: dict[str, str]
    files: dict[str, str]


def remove_package(folder: Path, kept: Collection[str]) -> None:
    """Removes the files of a package from a folder, if there is one, so that none of them mixes
    with those of the next.

    Args:
        kept: paths that the next package overwrites.

    Raises:
        ChangedPackage: one of the files is not as it was packaged; then none is removed.
        NotWritable: a file cannot be removed.
    """
    due = []
    for path, digest in _files_of(folder).items():
        file = folder / path
        if path in kept or not file.is_file():
            continue
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise ChangedPackage(file=file)
        due.append(file)
    try:
        for file in due:
            file.unlink()
            for parent in file.relative_to(folder).parents[:-1]:
                if not any((folder / parent).iterdir()):
                    (folder / parent).rmdir()
    except OSError as error:
        raise unwritable(folder, error) from error


def _files_of(folder: Path) -> dict[str, str]:
    """Of the package in a folder; none if there is no package, or another tool's file."""
    try:
        files = Manifest.model_validate_json((folder / MANIFEST).read_bytes()).files
    except (OSError, ValidationError):
        return {}
    return {path: digest for path, digest in files.items() if _is_inside(path)}


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts

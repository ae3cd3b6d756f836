"""package.json: what a package is, and the checksums of its files."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from cmbuild.outputs.delivery import digest_of
from cmbuild.packaging.footprint import Footprint

MANIFEST = "package.json"


class Manifest(BaseModel):
    """package.json.

    Attributes:
        cmbuild: the version that made it.
        model: prefix of the emitted symbols.
        identity: of program and plan, as the firmware reports it.
        target, isa: what it was planned for; the build must have kernels for exactly this `isa`.
        needs_float: whether it calls kernels that compute in float.
        samples: test vectors.
        footprint: bytes of flash, RAM and stack; earlier versions did not have it.
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
    footprint: Footprint | None = None
    versions: dict[str, str]
    files: dict[str, str]


def own_files(folder: Path) -> dict[Path, str]:
    """The digests of a package's files that are in a folder, by what the package itself says; none
    if there is no package.
    """
    files = _files_of(folder)
    digest = digest_of(folder / MANIFEST) if files else None
    return {folder / path: each for path, each in files.items()} | (
        {} if digest is None else {folder / MANIFEST: digest}
    )


def _files_of(folder: Path) -> dict[str, str]:
    """Digests of the files of a package; none if there is no package, or another tool's file."""
    try:
        files = Manifest.model_validate_json((folder / MANIFEST).read_bytes()).files
    except (OSError, ValidationError):
        return {}
    return {path: digest for path, digest in files.items() if _is_inside(folder, path)}


def _is_inside(folder: Path, path: str) -> bool:
    """Whether it is a file of the folder: a name or a link may lead elsewhere, or nowhere."""
    try:
        file = (folder / path).resolve(strict=True)
        return file.is_file() and file.is_relative_to(folder.resolve())
    # A name may be too long, or hold a zero; links may turn in a circle.
    except (OSError, ValueError, RuntimeError):
        return False

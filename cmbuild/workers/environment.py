"""Properties of machines that results depend on besides their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import cmcompiler
from cmbuild import paths
from cmbuild.cache.fingerprint import digest
from cmbuild.errors import UsageError
from cmbuild.toolchain.versions import all_versions, package

_SHOWN = 12  # digits of a digest


class OtherEnvironment(UsageError):
    template = "worker {worker}: {name} is {found} there, {expected} here"
    hint = "install the same versions on all machines"


def environment() -> dict[str, str]:
    """Versions of cmbuild, what it exports and computes with, and its tools, by name; and the
    digest of cmbuild's own files.
    """
    folders = (Path(__file__).parents[1], Path(cmcompiler.__file__).parent)
    files = "".join(map(digest, (*folders, paths.runtime(), paths.boards())))
    versions = all_versions() | {name: package(name) or "" for name in ("cmbuild", "numpy")}
    return versions | {"cmbuild's files": _digest(files)}


def check(worker: str, actual: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """
    Raises:
        OtherEnvironment: naming the first difference.
    """
    for name in dict.fromkeys([*expected, *actual]):
        pair = [each.get(name, "missing") for each in (actual, expected)]
        if pair[0] != pair[1]:
            raise OtherEnvironment(worker=worker, name=name, found=pair[0], expected=pair[1])


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:_SHOWN]

"""Writes constraints.txt: the versions of all packages that cmbuild uses, as installed here.

    python scripts/lock.py

Run it in an environment in which `./cmbuildw test` passed. `./cmbuildw --locked` installs them.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cmbuild.strictfile import tomllib

ROOT = Path(__file__).parents[1]
FILE, PROJECT = ROOT / "constraints.txt", ROOT / "pyproject.toml"
EXTRAS = ("export", "test", "docs", "quick", "build")
NOT_EVERYWHERE = ("nvidia-", "cuda-", "triton")
"""PyTorch's index of packages for CPUs does not need them."""


def closure(name: str, extras: tuple[str, ...]) -> dict[str, str]:
    """Versions of what a distribution requires, by name, itself excluded."""
    versions: dict[str, str] = {}
    ahead = [(name, extras)]
    done = set()
    while ahead:
        key = ahead.pop()
        if key in done:
            continue
        done.add(key)
        for requirement in _required(*key):
            other = canonicalize_name(requirement.name)
            try:
                version = metadata.version(other)
            except metadata.PackageNotFoundError:
                continue
            if other != name:
                versions[other] = version.partition("+")[0]
            ahead.append((other, tuple(sorted(requirement.extras))))
    return versions


def _required(name: str, extras: tuple[str, ...]) -> Iterator[Requirement]:
    """Requirements of a distribution; those of cmbuild itself are as in pyproject.toml now."""
    if name == "cmbuild":
        project = tomllib.loads(PROJECT.read_text())["project"]
        optional = project["optional-dependencies"]
        texts = [*project["dependencies"], *(each for extra in extras for each in optional[extra])]
    else:
        texts = metadata.requires(name) or []
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def main() -> int:
    versions = closure("cmbuild", EXTRAS)
    lines = [
        f"{name}=={version}"
        for name, version in sorted(versions.items())
        if not name.startswith(NOT_EVERYWHERE)
    ]
    python = ".".join(platform.python_version_tuple()[:2])
    head = (
        f"# Written by scripts/lock.py with Python {python}: `./cmbuildw --locked` installs these."
    )
    FILE.write_text("\n".join([head, *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Versions that a project pins, for machines on which the packages are not installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cmbuild.strictfile import read_document, read_text

FILES = ("pylock.toml", "uv.lock", "requirements.txt")
"""Lock files, the first of which that pins any package is taken."""

_PIN = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\])?\s*===?\s*([^\s;#\\]+)", re.MULTILINE)


def pinned(folder: Path, packages: Iterable[str]) -> Mapping[str, str]:
    """Versions of some packages in the lock file of a folder, by name; none without a file.

    Raises:
        UsageError: a lock file cannot be read.
    """
    wanted = {_normalized(name): name for name in packages}
    for name in FILES:
        pins = {
            wanted[package]: version
            for package, version in _versions(folder / name).items()
            if package in wanted
        }
        if pins:
            return pins
    return {}


def _versions(file: Path) -> Mapping[str, str]:
    if not file.exists():
        return {}
    if file.suffix == ".txt":
        return {_normalized(name): version for name, version in _PIN.findall(read_text(file))}
    _, content = read_document(file)
    listed = [*_tables(content.get("packages")), *_tables(content.get("package"))]
    return {
        _normalized(str(each["name"])): str(each["version"])
        for each in listed
        if "name" in each and "version" in each
    }


def _tables(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _normalized(name: str) -> str:
    """As package indices compare names: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()

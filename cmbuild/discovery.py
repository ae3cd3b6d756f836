"""Packages that are lists: each module is an entry, and a new entry is one new file."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def names(package: ModuleType) -> tuple[str, ...]:
    """The entries' names, without importing them: `probe-rs` is in probe_rs.py."""
    return tuple(sorted([each.name.replace("_", "-") for each in iter_modules(package.__path__)]))


def entries(package: ModuleType, attribute: str) -> dict[str, Any]:
    """The attribute of this name of each module of a package."""
    return {name: entry(package, name, attribute) for name in names(package)}


def entry(package: ModuleType, name: str, attribute: str) -> Any:
    """The attribute of one module, without importing the others."""
    module = import_module(f"{package.__name__}.{name.replace('-', '_')}")
    return getattr(module, attribute)


def listed(names: tuple[str, ...]) -> str:
    """`gcc, clang or zig`"""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))

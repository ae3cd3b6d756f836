"""Versions of cmbuild and its dependencies, without importing them."""

from __future__ import annotations

import platform
from importlib import metadata

from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmcompiler.installation import checkout

EXPORT_PACKAGES = ("torch", "torchvision", "executorch", "torchao", "tosa-tools")


def package(name: str) -> str | None:
    """The version of an installed Python distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def own() -> str:
    """cmbuild's version; in a checkout with the commit: `0.2.0 (1a2b3c4-dirty)`."""
    number = package("cmbuild") or "unknown"
    commit = _commit()
    return f"{number} ({commit})" if commit else number


def all_versions() -> dict[str, str]:
    """Versions of cmbuild, Python, and installed tools for export and build, by name."""
    versions: dict[str, str | None] = {"cmbuild": own(), "python": platform.python_version()}
    versions.update((name, package(name)) for name in EXPORT_PACKAGES)
    for tool in (ARM_GCC, tools.QEMU):
        program = tools.find(tool.name)
        versions[tool.name] = tools.version(program) if program else None
    return {name: version for name, version in versions.items() if version}


def _commit() -> str | None:
    root, git = checkout(), tools.find("git")
    if root is None or git is None or not (root / ".git").exists():
        return None
    status, output = tools.ask(git, "-C", root, "describe", "--always", "--dirty", "--exclude=*")
    return output.strip() if status == 0 else None

"""The packages to install before cmbuild can be set up.

Needs only the standard library: `cmbuildw` runs it on a fresh machine.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from cmbuild import discovery
from cmbuild.toolchain import compilers, tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC, ARM_GXX
from cmbuild.toolchain.compilers.host import HOST_CC
from cmbuild.toolchain.tools import Tool

_USED_BY_ALL = (ARM_GCC, tools.QEMU, HOST_CC)
_USED_BY_TESTS = (ARM_GXX, tools.CCACHE, tools.ZSH, tools.FISH)


def packages() -> list[str]:
    """Debian's packages for what boards need, and for this Python's `venv`."""
    return [*_packages(_USED_BY_ALL), *_venv()]


def small_packages() -> list[str]:
    """Debian's packages for the quick tests: a host C compiler, and this Python's `venv`."""
    return [*_packages((HOST_CC,)), *_venv()]


def test_packages() -> list[str]:
    """The same, with what only tests use: other toolchains, C++, a cache of compilers, shells."""
    kinds = discovery.entries(compilers, "TOOLCHAIN").values()
    others = [kind.compiler for kind in kinds if kind.compiler not in _USED_BY_ALL]
    return list(dict.fromkeys([*packages(), *_packages([*others, *_USED_BY_TESTS])]))


def extras() -> list[str]:
    """Extras of this project for tools that the system does not have."""
    return [] if all(map(_usable, (tools.CMAKE, tools.NINJA))) else ["build"]


def _venv() -> list[str]:
    is_there = importlib.util.find_spec("ensurepip") is not None
    return [] if is_there else [f"python3.{sys.version_info.minor}-venv"]


def _packages(wanted: Iterable[Tool]) -> list[str]:
    return [package for tool in wanted if not _usable(tool) for package in tool.packages]


def _usable(tool: Tool) -> bool:
    """Whether one on PATH is good enough."""
    programs = filter(None, map(shutil.which, (tool.name, *tool.also)))
    return any(
        tools.problem(tool, Path(each), tools.version(Path(each))) is None for each in programs
    )

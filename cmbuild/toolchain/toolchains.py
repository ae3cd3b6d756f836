"""Compilers: their names, places, versions, and settings for CMake."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmbuild import discovery, paths
from cmbuild.errors import Missing, MissingTool, UnknownName
from cmbuild.process import Processes
from cmbuild.toolchain import compilers, tools
from cmbuild.toolchain.kind import ToolchainKind
from cmcompiler.installation import pip_command
from cmcompiler.target import Target


def _ordered(kinds: Mapping[str, ToolchainKind]) -> dict[str, ToolchainKind]:
    """The default first, this computer's own last."""
    names = sorted(kinds, key=lambda n: (not kinds[n].is_default, kinds[n].is_host, n))
    return {name: kinds[name] for name in names}


TOOLCHAINS = _ordered(discovery.entries(compilers, "TOOLCHAIN"))
"""By name, as in boards and `--toolchain`."""

HOST = next(name for name, kind in TOOLCHAINS.items() if kind.is_host)

DEFAULT = next(iter(TOOLCHAINS))

CROSS = tuple(filter(HOST.__ne__, TOOLCHAINS))


class UnusableTool(Missing):
    template = "{tool}: {problem}"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler with its linker.

    Attributes:
        name: of TOOLCHAINS.
        compiler: its C compiler.
        version: as reported by the compiler: `12.2.1`.
    """

    name: str
    compiler: Path
    version: str

    @property
    def kind(self) -> ToolchainKind:
        return TOOLCHAINS[self.name]

    @property
    def is_host(self) -> bool:
        return self.kind.is_host

    @property
    def title(self) -> str:
        """For people: `gcc 12.2.1`."""
        return f"{'cc' if self.is_host else self.name} {self.version}"

    @property
    def words(self) -> list[str]:
        """The C compiler as a command."""
        return [str(self.compiler), *self.kind.command]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for it."""
        return self.kind.environment()

    def cmake(self, target: Target) -> list[str]:
        """Arguments that make CMake use it for a target."""
        compiler = f"-D{self.kind.variable}={self.compiler}"
        if self.kind.file is None:
            return [compiler]
        return [
            f"-DCMAKE_TOOLCHAIN_FILE={paths.runtime() / 'cmake' / self.kind.file}",
            compiler,
            *_definitions(target),
        ]


def find_toolchain(name: str, processes: Processes, log: Path) -> Toolchain:
    """A toolchain of this machine.

    Args:
        log: gets the compiler's output.

    Raises:
        UnknownName: no such toolchain.
        MissingTool: it is not installed; the hint says how to install it.
        UnusableTool: it is too old, or lacks what it needs.
    """
    if name not in TOOLCHAINS:
        raise UnknownName(kind="toolchain", name=name, known=TOOLCHAINS)
    kind = TOOLCHAINS[name]
    tool = kind.compiler
    compiler = tools.find_tool(tool)
    if compiler is None:
        raise MissingTool(tool=tool.name, hint=tools.install_command(tool))
    asked = processes.run([compiler, *tool.asking], log=log, timeout=10)
    version = tools.number(asked.output) or "0"
    # `cmbuild doctor` tries out the default one; here that would cost a tenth of a second.
    is_trusted = kind.is_default or kind.is_host
    problem = tools.problem(tool, compiler, version, in_use=not is_trusted)
    if problem is not None:
        raise UnusableTool(tool=compiler, problem=problem, hint=tools.install_command(tool))
    return Toolchain(name, compiler, version)


def installed(name: str) -> str:
    """A toolchain, or the one from PyPI where its compiler is not installed and that is."""
    if name == HOST or tools.find_tool(TOOLCHAINS[name].compiler) is not None:
        return name
    others = (other for other in CROSS if TOOLCHAINS[other].compiler.extra is not None)
    return next((o for o in others if tools.find_tool(TOOLCHAINS[o].compiler) is not None), name)


def cpu_flags(name: str, target: Target) -> list[str]:
    """Flags that make a toolchain's compiler build for a target, from runtime/cmake/target.cmake.

    Raises:
        MissingTool: CMake is not installed.
    """
    cmake = tools.find(tools.CMAKE.name)
    if cmake is None:
        raise MissingTool(tool=tools.CMAKE.name, hint=pip_command("build"))
    asked = [*_definitions(target), f"-DTARGET_DIALECT={TOOLCHAINS[name].dialect or name}"]
    _, said = tools.ask(cmake, *asked, "-P", paths.runtime() / "cmake" / "target.cmake")
    return said.split()


def fpus(cpu: str) -> list[str]:
    """The FPUs that a core can have: `double`, `single`, `none`."""
    return list(_core(cpu).get("fpus", ["none"]))


def has_stack_limit(cpu: str) -> bool:
    """Whether a core has a register for the end of the stack, as CM_HAS_STACK_LIMIT of
    runtime/cortexm/protect.h says.
    """
    architecture: str = _core(cpu)["architecture"]
    return architecture.startswith("armv8") and architecture.endswith(".main")


def _core(cpu: str) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = json.loads(
        (paths.runtime() / "cmake" / "cpus.json").read_text()
    )
    return table[cpu]


def _definitions(target: Target) -> list[str]:
    return [
        f"-DTARGET_CPU={target.cpu}",
        f"-DTARGET_ISA={target.isa.label}",
        f"-DTARGET_FPU={target.fpu or ''}",
    ]

"""Compilers: which there are, where they are, which version, and how CMake is told of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.errors import Missing, MissingTool, UnknownName
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.tools import Tool
from cmcompiler.target import Target

HOST = "host"


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of toolchain.

    Attributes:
        compiler: its C compiler.
        file: of runtime/cmake, which tells CMake of it; None for this computer's own.
        variable: of that file: the compiler's path.
        command: what the program takes to be a C compiler.
    """

    compiler: Tool
    file: str | None = None
    variable: str = "CMAKE_C_COMPILER"
    command: tuple[str, ...] = ()


TOOLCHAINS: Mapping[str, Kind] = {
    "gcc": Kind(tools.ARM_GCC, "arm-none-eabi-gcc.cmake", "ARM_NONE_EABI_GCC"),
    "clang": Kind(tools.CLANG, "clang.cmake", "CLANG"),
    "zig": Kind(tools.ZIG, "zig.cmake", "ZIG", ("cc",)),
    HOST: Kind(tools.HOST_CC),
}
"""By name, as boards and `--toolchain` have it; `host` is this computer's own."""

CROSS = tuple(name for name in TOOLCHAINS if name != HOST)


class UnusableTool(Missing):
    template = "{tool}: {problem}"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler with its linker.

    Attributes:
        name: of TOOLCHAINS.
        compiler: its C compiler.
        version: as the compiler tells it: `12.2.1`.
    """

    name: str
    compiler: Path
    version: str

    @property
    def is_host(self) -> bool:
        return self.name == HOST

    @property
    def title(self) -> str:
        """For people: `gcc 12.2.1`."""
        return f"{'cc' if self.is_host else self.name} {self.version}"

    @property
    def words(self) -> list[str]:
        """The C compiler as a command."""
        return [str(self.compiler), *TOOLCHAINS[self.name].command]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for it: zig keeps the parts of compiler-rt that it has compiled."""
        return {"ZIG_GLOBAL_CACHE_DIR": str(paths.cache() / "zig")} if self.name == "zig" else {}

    def cmake(self, target: Target) -> list[str]:
        """Arguments that make CMake use it for a target."""
        kind = TOOLCHAINS[self.name]
        compiler = f"-D{kind.variable}={self.compiler}"
        if kind.file is None:
            return [compiler]
        return [
            f"-DCMAKE_TOOLCHAIN_FILE={paths.runtime() / 'cmake' / kind.file}",
            compiler,
            *_definitions(target),
        ]


def find_toolchain(name: str, processes: Processes, log: Path) -> Toolchain:
    """A toolchain of this machine.

    Args:
        log: gets what the compiler prints.

    Raises:
        UnknownName: no such toolchain.
        MissingTool: it is not on this machine; the hint says how to get it.
        UnusableTool: it is there, but too old, or without what it needs.
    """
    if name not in TOOLCHAINS:
        raise UnknownName(kind="toolchain", name=name, known=TOOLCHAINS)
    tool = TOOLCHAINS[name].compiler
    compiler = tools.find_tool(tool)
    if compiler is None:
        raise MissingTool(tool=tool.name, hint=install_command(tool))
    asked = processes.run([compiler, *tool.asking], log=log, timeout=10)
    version = tools.number(asked.output) or "0"
    # The default one has its problems told by `cmbuild doctor`; asking costs a tenth of a second.
    if name in CROSS[1:] and (problem := tools.problem(tool, compiler, version)) is not None:
        raise UnusableTool(tool=compiler, problem=problem, hint=install_command(tool))
    return Toolchain(name, compiler, version)


def cpu_flags(name: str, target: Target) -> list[str]:
    """What makes a toolchain's compiler build for a target, as runtime/cmake/target.cmake says.

    Raises:
        MissingTool: there is no CMake.
    """
    cmake = tools.find(tools.CMAKE.name)
    if cmake is None:
        raise MissingTool(tool=tools.CMAKE.name, hint=tools.pip_command("build"))
    asked = [*_definitions(target), f"-DTARGET_DIALECT={name}"]
    _, said = tools.ask(cmake, *asked, "-P", paths.runtime() / "cmake" / "target.cmake")
    return said.split()


def fpus(cpu: str) -> list[str]:
    """What a core can have: `double`, `single`, `none`."""
    table = json.loads((paths.runtime() / "cmake" / "cpus.json").read_text())
    return list(table[cpu].get("fpus", ["none"]))


def _definitions(target: Target) -> list[str]:
    return [
        f"-DTARGET_CPU={target.cpu}",
        f"-DTARGET_ISA={target.isa.label}",
        f"-DTARGET_FPU={target.fpu or ''}",
    ]


def install_command(tool: Tool) -> str:
    """What brings a compiler, ready to paste."""
    return tools.pip_command("zig") if tool is tools.ZIG else tools.install_command(tool)

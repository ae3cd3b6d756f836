"""The declaration of a toolchain: its compiler, and how CMake uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cmbuild.toolchain.tools import Tool


@dataclass(frozen=True, slots=True)
class ToolchainKind:
    """A toolchain; its name is its module's.

    Attributes:
        compiler: its C compiler.
        file: its CMake toolchain file in runtime/cmake; None for this computer's own.
        variable: of that file: the compiler's path.
        command: arguments that make the program a C compiler.
        dialect: of runtime/cmake/target.cmake, whose options it accepts; its own if None.
        environment: variables that the compiler needs.
        bare_link: arguments that link objects alone, without start-up code.
        libraries: arguments of such a link after the objects.
        calls_linker: whether that calls the linker directly, without -Wl.
        is_default: whether boards that name no toolchain use it.
        builds_executorch: whether it builds ExecuTorch's own runtime.
    """

    compiler: Tool
    file: str | None = None
    variable: str = "CMAKE_C_COMPILER"
    command: tuple[str, ...] = ()
    dialect: str | None = None
    environment: Callable[[], Mapping[str, str]] = dict
    bare_link: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    calls_linker: bool = False
    is_default: bool = False
    builds_executorch: bool = False

    @property
    def is_host(self) -> bool:
        return self.file is None

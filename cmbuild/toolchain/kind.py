"""What a toolchain declares: its compiler, and how CMake uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cmbuild.toolchain.tools import Tool


@dataclass(frozen=True, slots=True)
class ToolchainKind:
    """A toolchain; its name is its module's.

    Attributes:
        compiler: its C compiler.
        file: of runtime/cmake, which tells CMake of it; None for this computer's own.
        variable: of that file: the compiler's path.
        command: what the program takes to be a C compiler.
        dialect: of runtime/cmake/target.cmake, whose options it takes; its own if None.
        environment: variables that the compiler needs.
        bare_link: what makes the program link objects alone, without start-up code.
        libraries: what such a link needs after the objects.
        calls_linker: whether that calls the linker itself, which takes its options as they are.
        is_default: whether boards that name no toolchain use it.
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

    @property
    def is_host(self) -> bool:
        return self.file is None

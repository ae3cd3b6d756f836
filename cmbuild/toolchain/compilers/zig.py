"""zig, which contains clang, lld and compiler-rt; C functions for kernels are in `runtime/libc`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from cmbuild.cache.folders import CacheFolder
from cmbuild.toolchain.kind import ToolchainKind
from cmbuild.toolchain.tools import Tool


def _packaged() -> Path | None:
    """The program in the package, which is not on PATH."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    program = Path(package.origin).parent / "zig"
    return program if program.is_file() else None


def _environment() -> Mapping[str, str]:
    """Its cache for compiled parts of compiler-rt."""
    return {"ZIG_GLOBAL_CACHE_DIR": str(CacheFolder.ZIG.path)}


ZIG = Tool(
    "zig",
    (),
    "--toolchain zig",
    "0.17",
    asking=("version",),
    extra="zig",
    locate=_packaged,
)

# Its `cc` does not pass all options to the linker.
TOOLCHAIN = ToolchainKind(
    ZIG,
    "zig.cmake",
    "ZIG",
    ("cc",),
    environment=_environment,
    bare_link=("ld.lld",),
    calls_linker=True,
)

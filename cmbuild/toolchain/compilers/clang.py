"""clang with lld, and newlib and libgcc of `arm-none-eabi-gcc`, or its own C library."""

from __future__ import annotations

from pathlib import Path

from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmbuild.toolchain.kind import ToolchainKind
from cmbuild.toolchain.tools import Tool, ask, find


def _lacks_parts(clang: Path) -> str | None:
    """clang comes without a linker and a C library."""
    if not Path(ask(clang, "-print-prog-name=ld.lld")[1].strip()).is_absolute():
        return "without lld"
    core = ("--target=thumb-none-eabi", "-mcpu=cortex-m55")
    libc = ask(clang, *core, "-print-file-name=libc.a")[1].strip()
    if Path(libc).is_absolute() or find(ARM_GCC.name) is not None:
        return None
    return "without a C library: newlib comes with arm-none-eabi-gcc"


# clang-19 has the Cortex-M52 and M85, and makes good code of MVE intrinsics.
CLANG = Tool(
    "clang",
    ("clang-19", "lld-19", *ARM_GCC.packages),
    "--toolchain clang",
    "19",
    also=tuple(f"clang-{version}" for version in range(22, 18, -1)),
    check=_lacks_parts,
)

TOOLCHAIN = ToolchainKind(CLANG, "clang.cmake", "CLANG", bare_link=("-fuse-ld=lld", "-nostdlib"))

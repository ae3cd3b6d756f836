"""`arm-none-eabi-gcc` with newlib."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cmbuild.toolchain.kind import ToolchainKind
from cmbuild.toolchain.tools import Tool, ask

# Debian's compiler comes without newlib, and some toolchains without the variant for the core.
_PROGRAM = """
#include <arm_mve.h>
#include <math.h>
#include <string.h>
int main(int count, char **words) { return (int)(strlen(words[0]) + sqrtf((float)count)); }
"""


def _cannot_link(gcc: Path) -> str | None:
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        source, image = Path(folder) / "main.c", Path(folder) / "main.elf"
        source.write_text(_PROGRAM)
        core = ("-mcpu=cortex-m55", "-mfloat-abi=hard", "--specs=nosys.specs")
        status, output = ask(gcc, *core, source, "-lm", "-o", image)
    if status == 0:
        return None
    if "No such file" in output or "cannot find" in output:
        return "without newlib"
    return "cannot build for cortex-m55"


def _lacks_library(gxx: Path) -> str | None:
    """Debian's compiler comes without C++'s library."""
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        source = Path(folder) / "main.cpp"
        source.write_text("#include <optional>\n")
        status, _ = ask(gxx, "-std=c++17", "-mcpu=cortex-m55", "-fsyntax-only", source)
    return None if status == 0 else "without libstdc++"


# gcc knows the Cortex-M55 and its MVE since 10.
ARM_GCC = Tool(
    "arm-none-eabi-gcc",
    ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi"),
    "every board but native",
    "10.0",
    check=_cannot_link,
)
ARM_GXX = Tool(
    "arm-none-eabi-g++",
    ("gcc-arm-none-eabi", "libstdc++-arm-none-eabi-newlib"),
    "--executor executorch",
    "10.0",
    check=_lacks_library,
)

TOOLCHAIN = ToolchainKind(
    ARM_GCC,
    "arm-none-eabi-gcc.cmake",
    "ARM_NONE_EABI_GCC",
    bare_link=("--specs=nano.specs", "-nostartfiles"),
    libraries=("-lm",),
    is_default=True,
    builds_executorch=True,
)

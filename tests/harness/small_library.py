"""A runtime library without kernels, which builds in a second: enough for a toy model."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cmbuild import paths
from cmbuild.firmware.builder import LIBRARY, Builder
from cmbuild.toolchain.toolchains import cpu_flags

SOURCES = ("checksum", "finish", "host", "runner", "semihosting", "state", "step", "text")


def build_small_library(builder: Builder, folder: Path) -> Path:
    """Builds the part of the library that every image contains, for a builder's target."""
    folder.mkdir(parents=True)
    runtime, compiler = paths.runtime(), builder.toolchain.compiler
    flags = cpu_flags(builder.toolchain.name, builder.target)
    files = [runtime / "runner" / f"{name}.c" for name in SOURCES]
    subprocess.run(
        [compiler, "-c", "-O2", "-mthumb", *flags, f"-I{runtime / 'include'}", *files],
        cwd=folder,
        check=True,
    )
    archiver = str(compiler).removesuffix("gcc") + "ar"
    objects = [f"{name}.o" for name in SOURCES]
    subprocess.run([archiver, "rc", LIBRARY, *objects], cwd=folder, check=True)
    return folder / LIBRARY

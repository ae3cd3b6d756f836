"""A runtime library without kernels, which takes a second to build: enough for a toy model."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cmbuild import paths
from cmbuild.toolchain.cmake import LIBRARY, Builder
from cmbuild.toolchain.toolchains import cpu_flags

SOURCES = ("checksum", "finish", "host", "runner", "semihosting", "state", "text")


def build_small_library(builder: Builder, folder: Path) -> Path:
    """What of the library is in every image, for the target of a builder."""
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

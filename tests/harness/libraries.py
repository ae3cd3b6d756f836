"""Runtime libraries for tests, rebuilt only when sources change."""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock

from cmbuild.firmware.builder import Builder
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target

FOLDER = Path(__file__).parents[2] / "build" / "test-libraries"


def builder(toolchain: str, target: Target) -> Builder:
    """A builder for a target with one of this machine's toolchains."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    processes = Processes()
    chosen = find_toolchain(toolchain, processes, FOLDER / f"{toolchain}.log")
    return Builder(processes, chosen, target)


def library(builder: Builder) -> Path:
    """The library of a builder, in CMake's folder; warnings are errors.

    It is compiled by the commands of users, so that a cache of compilers has its files for both,
    and repeats their warnings.
    """
    folder = FOLDER / f"{builder.toolchain.name}-{builder.target}"
    # Workers of pytest-xdist share it.
    with FileLock(f"{folder}.lock"):
        made = builder.library(folder)
        log = (folder / "build.log").read_text()
        if "warning:" in log:
            shutil.rmtree(folder)
            raise AssertionError(log)
    return made

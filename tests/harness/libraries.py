"""Runtime libraries for tests, rebuilt only when sources change."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from cmbuild import paths
from cmbuild.firmware.builder import LIBRARY, Builder
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target

FOLDER = Path(__file__).parents[2] / "build" / "test-libraries"
TIMEOUT = 600


def builder(toolchain: str, target: Target) -> Builder:
    """A builder for a target with one of this machine's toolchains."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    processes = Processes()
    found = find_toolchain(toolchain, processes, FOLDER / f"{toolchain}.log")
    return Builder(processes, found, target)


def library(builder: Builder) -> Path:
    """The library of a builder, in CMake's folder; warnings are errors."""
    chosen, run = builder.toolchain, builder.processes.run
    folder = FOLDER / f"{chosen.name}-{builder.target}"
    folder.mkdir(parents=True, exist_ok=True)
    configure = [
        *(tools.find("cmake"), "-G", "Ninja", "-S", paths.runtime(), "-B", folder),
        *("-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", *chosen.cmake(builder.target)),
    ]
    # Workers of pytest-xdist share it.
    with FileLock(f"{folder}.lock"):
        for argv in (configure, [tools.find("ninja"), "-C", folder]):
            run(argv, log=folder / "log", timeout=TIMEOUT, env=chosen.environment)
    return folder / LIBRARY

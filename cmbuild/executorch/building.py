"""ExecuTorch's bare-metal libraries from a checkout: what a program needs, in our folders."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Failed, Missing
from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import CORE, PRIMITIVES, Family
from cmbuild.executorch.runtime import Runtime
from cmbuild.toolchain import tools
from cmbuild.toolchain.cmake import Builder, find_program
from cmbuild.toolchain.tools import ARM_GXX, CMAKE, NINJA

_SECONDS = 3600.0  # all of upstream's kernels take three minutes on two slow cores

# Upstream's preset for bare metal configures the SDK of an NPU, which it fetches, and logs at run
# time; its defaults build runners, tools for developers and libraries of threads.
_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_POSITION_INDEPENDENT_CODE": "OFF",
    "EXECUTORCH_BUILD_ARM_BAREMETAL": "OFF",
    "EXECUTORCH_BUILD_CORTEX_M": "ON",
    "EXECUTORCH_BUILD_CPUINFO": "OFF",
    "EXECUTORCH_BUILD_DEVTOOLS": "OFF",
    "EXECUTORCH_BUILD_EXECUTOR_RUNNER": "OFF",
    "EXECUTORCH_BUILD_EXTENSION_DATA_LOADER": "OFF",
    "EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL": "OFF",
    "EXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR": "OFF",
    "EXECUTORCH_BUILD_EXTENSION_RUNNER_UTIL": "OFF",
    "EXECUTORCH_BUILD_KERNELS_QUANTIZED": "ON",
    "EXECUTORCH_BUILD_PORTABLE_OPS": "ON",
    "EXECUTORCH_BUILD_PTHREADPOOL": "OFF",
    "EXECUTORCH_BUILD_TESTS": "OFF",
    "EXECUTORCH_ENABLE_EVENT_TRACER": "OFF",
    "EXECUTORCH_ENABLE_LOGGING": "OFF",
    "EXECUTORCH_ENABLE_PROGRAM_VERIFICATION": "OFF",
    "EXECUTORCH_PAL_DEFAULT": "minimal",
    "EXECUTORCH_USE_DL": "OFF",
    # Named, this submodule is not configured: only its thread pools need it.
    "FXDIV_SOURCE_DIR": "unused",
}

_CXX_FLAGS = (
    "-fno-exceptions -fno-rtti -fno-unwind-tables -fno-asynchronous-unwind-tables "
    "-fno-threadsafe-statics -ffunction-sections -fdata-sections"
)

# The registry is an array of 12 bytes a kernel, 2000 of them unless told otherwise.
_REGISTRY_STEP = 32
_MOST_PRIMITIVES = 64


class NoLibrary(Failed):
    template = "the build of {root} has made no lib{target}.a"
    hint = "cmbuild knows ExecuTorch 1.5; the whole output is in {log}"


class NoCompiler(Missing):
    template = "{tool}: {problem}"


@dataclass(frozen=True, slots=True)
class Parts:
    """What is built of a checkout.

    Attributes:
        families: of operators whose kernels are wanted.
        primitives: the runtime's own operators are, too.
        registry: how many kernels can be registered.
    """

    families: tuple[Family, ...]
    primitives: bool
    registry: int

    @classmethod
    def of(cls, families: Iterable[Family], operators: int, primitives: bool) -> Parts:
        """
        Args:
            operators: how many are registered, without the primitive ones.
        """
        needed = operators + (_MOST_PRIMITIVES if primitives else 0)
        steps = max(1, -(-needed // _REGISTRY_STEP))
        return cls(tuple(families), primitives, steps * _REGISTRY_STEP)

    @property
    def targets(self) -> tuple[str, ...]:
        """CMake targets, each a library."""
        kernels = (target for family in self.families for target in family.libraries)
        return tuple(dict.fromkeys((CORE, *([PRIMITIVES] if self.primitives else []), *kernels)))


def check_compiler() -> None:
    """
    Raises:
        NoCompiler: there is none for C++, or it lacks the library.
    """
    compiler = tools.find_tool(ARM_GXX)
    problem = "not found"
    if compiler is not None:
        problem = tools.problem(ARM_GXX, compiler, tools.version(compiler)) or ""
    if problem:
        raise NoCompiler(tool=ARM_GXX.name, problem=problem, hint=tools.install_command(ARM_GXX))


def options(checkout: Checkout, parts: Parts) -> dict[str, str]:
    """CMake's variables for a build of a checkout, without the toolchain and folders of ours."""
    own = {} if checkout.cmsis_nn is None else {"CMSIS_NN_LOCAL_PATH": str(checkout.cmsis_nn)}
    return _OPTIONS | own | {"MAX_KERNEL_NUM": str(parts.registry)}


def build(checkout: Checkout, parts: Parts, builder: Builder, folder: Path) -> None:
    """Configures and builds a checkout; its libraries come to be in a folder, the rest goes.

    Args:
        builder: for our own library, with the same core and toolchain.

    Raises:
        MissingTool, ProcessFailed, TimedOut.
        NoLibrary: it has built something else.
    """
    cmake, ninja = find_program(CMAKE), find_program(NINJA)
    place = folder / "build"
    variables = options(checkout, parts) | {
        "CMAKE_MAKE_PROGRAM": str(ninja),
        # CMake refuses to export libraries whose headers are within its own build folder.
        "FETCHCONTENT_BASE_DIR": str(folder.absolute() / "fetched"),
        "PYTHON_EXECUTABLE": sys.executable,
        "TARGET_CXX_FLAGS": _CXX_FLAGS,
        "TARGET_PROBE": "ON",
    }
    configure: list[str | Path] = [
        *(cmake, "-G", "Ninja", "-S", checkout.root, "-B", place),
        *builder.toolchain.cmake(builder.target),
        *(f"-D{name}={value}" for name, value in variables.items()),
    ]
    # Its code generators are run from within the checkout, where they must leave nothing.
    clean = {"PYTHONDONTWRITEBYTECODE": "1"}
    log = folder / "build.log"
    builder.processes.run(configure, log=folder / "configure.log", timeout=_SECONDS, env=clean)
    command: Sequence[str | Path] = [ninja, "-C", place, *parts.targets]
    builder.processes.run(command, log=log, timeout=_SECONDS, env=clean)
    for name in parts.targets:
        found = next(iter(sorted(place.rglob(f"lib{name}.a"))), None)
        if found is None:
            raise NoLibrary(root=checkout.root, target=name, log=log)
        shutil.move(found, folder / found.name)
    for leftover in (place, folder / "fetched"):
        shutil.rmtree(leftover, ignore_errors=True)


def built(checkout: Checkout, parts: Parts, folder: Path) -> Runtime:
    """What `build` has left in a folder."""
    libraries = {name: folder / f"lib{name}.a" for name in parts.targets}
    whole = libraries.pop(PRIMITIVES, None)
    return Runtime(
        include=checkout.include,
        libraries=tuple(libraries.values()),
        whole_libraries=() if whole is None else (whole,),
        definitions=("ET_LOG_ENABLED=0",),
    )

"""ExecuTorch's bare-metal libraries for a program, built from a checkout but outside of it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.cache.locks import locked
from cmbuild.errors import Failed, Interrupted, Missing, ProcessFailed
from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import (
    CORE,
    PORTABLE,
    PRIMITIVES,
    Family,
    functions,
    needed_sources,
)
from cmbuild.executorch.runtime import Runtime
from cmbuild.executorch.tree import Tree
from cmbuild.pipeline.performing import Waiting
from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GXX

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
    # With this set, the submodule is not configured; only thread pools need it.
    "FXDIV_SOURCE_DIR": "unused",
    "TARGET_CXX_FLAGS": (
        "-fno-exceptions -fno-rtti -fno-unwind-tables -fno-asynchronous-unwind-tables "
        "-fno-threadsafe-statics -ffunction-sections -fdata-sections"
    ),
    "TARGET_PROBE": "ON",
}

# The registry is an array of 12 bytes a kernel, 2000 of them by default. Its size is compiled into
# the core, so nearly all programs share one.
_REGISTRY_STEP = 128
_MOST_PRIMITIVES = 64


class NoLibrary(Failed):
    template = "the build of {root} did not produce lib{target}.a"
    hint = "cmbuild knows ExecuTorch 1.5; the full output is in {log}"


class NoCompiler(Missing):
    template = "{tool}: {problem}"


class OtherCmsisNn(Failed):
    template = "{cmsis_nn} is not the CMSIS-NN that {root} needs: {detail}"
    hint = (
        "git -C {cmsis_nn} fetch origin {pin} && git -C {cmsis_nn} checkout {pin}; "
        "the full output is in {log}"
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a checkout that are built.

    Attributes:
        families: of operators whose kernels are needed.
        portable: the operators among them that have portable kernels.
        primitives: whether the runtime's own operators are needed, too.
        registry: how many kernels can be registered.
    """

    families: tuple[Family, ...]
    portable: tuple[str, ...]
    primitives: bool
    registry: int

    @classmethod
    def of(cls, operators: Mapping[Family, tuple[str, ...]], primitives: bool) -> Parts:
        """
        Args:
            operators: of a program, except the primitive ones.
        """
        portable = {
            name
            for family, names in operators.items()
            if PORTABLE in family.libraries
            for name in names
        }
        needed = sum(map(len, operators.values())) + (_MOST_PRIMITIVES if primitives else 0)
        steps = max(1, -(-needed // _REGISTRY_STEP))
        registry = steps * _REGISTRY_STEP
        return cls(tuple(operators), tuple(sorted(portable)), primitives, registry)

    @property
    def targets(self) -> tuple[str, ...]:
        """CMake targets, each a library."""
        kernels = (target for family in self.families for target in family.libraries)
        return tuple(dict.fromkeys((CORE, *([PRIMITIVES] if self.primitives else []), *kernels)))

    @property
    def options(self) -> Mapping[str, str]:
        """CMake's variables, except paths on this machine."""
        return _OPTIONS | {"MAX_KERNEL_NUM": str(self.registry)}


def check_compiler() -> None:
    """Raises NoCompiler if it is not installed, or without a C++ library."""
    compiler = tools.find_tool(ARM_GXX)
    problem = "not found"
    if compiler is not None:
        problem = tools.problem(ARM_GXX, compiler, tools.version(compiler)) or ""
    if problem:
        raise NoCompiler(tool=ARM_GXX.name, problem=problem, hint=tools.install_command(ARM_GXX))


def schema_compiler(checkout: Checkout) -> Path | None:
    """The `flatc` of the installed ExecuTorch, if its version is that of the checkout's headers;
    otherwise upstream builds one with this computer's compiler.
    """
    package = importlib.util.find_spec("executorch")
    for folder in (package and package.submodule_search_locations) or ():
        program = Path(folder, "data", "bin", "flatc")
        if program.is_file() and tools.version(program) == checkout.flatbuffers:
            return program
    return None


def variables(checkout: Checkout, parts: Parts) -> Mapping[str, str]:
    """CMake's variables for a build of a checkout, except those of the toolchain."""
    options = {**parts.options, "PYTHON_EXECUTABLE": sys.executable}
    if checkout.cmsis_nn is not None:
        options["CMSIS_NN_LOCAL_PATH"] = str(checkout.cmsis_nn)
    if (flatc := schema_compiler(checkout)) is not None:
        options["FLATC_EXECUTABLE"] = str(flatc)
    return options


def build(
    checkout: Checkout, parts: Parts, tree: Tree, folder: Path, note: Callable[[str], None]
) -> None:
    """Builds the libraries that `built` finds.

    Args:
        tree: of this checkout with these variables, for a core and a toolchain.
        folder: gets the libraries and the logs.
        note: shows that another command is building in the tree.

    Raises:
        MissingTool, ProcessFailed, TimedOut.
        NoLibrary: a library is missing afterwards.
        OtherCmsisNn: the user's CMSIS-NN does not suit the checkout's kernels.
    """
    log = folder / "build.log"

    def check() -> None:
        if tree.builder.processes.is_ended:
            raise Interrupted

    message = f"another command is building {checkout.root}; waiting for it"
    with locked(tree.lock, Waiting(message, check, note)):
        tree.refresh(checkout.sources)
        tree.configure(checkout.root, variables(checkout, parts), folder / "configure.log")
        objects = _portable_objects(checkout, parts, tree)
        whole = [name for name in parts.targets if name != PORTABLE or not objects]
        try:
            tree.make([*whole, *objects], log)
        except ProcessFailed as error:
            raise _other_cmsis_nn(checkout, error, log) or error from error
        for name in whole:
            library = tree.library(name)
            if library is None:
                raise NoLibrary(root=checkout.root, target=name, log=log)
            shutil.copy(library, folder / library.name)
        if objects:
            tree.archive(objects, folder / f"lib{PORTABLE}.a", folder / "archive.log")
        tree.seal()


def _portable_objects(checkout: Checkout, parts: Parts, tree: Tree) -> list[str]:
    """Objects of the portable kernels that the operators need; none if unknown."""
    if not parts.portable:
        return []
    sources = tree.sources(PORTABLE)
    known = functions(checkout.root)
    return [sources[file] for file in needed_sources(sources, known, parts.portable)]


def _other_cmsis_nn(checkout: Checkout, error: ProcessFailed, log: Path) -> OtherCmsisNn | None:
    """The error if a failure seems to be due to the user's own CMSIS-NN, otherwise None."""
    mentioned = re.search(r"\barm_\w+|cmsis", error.message, re.IGNORECASE)
    if checkout.cmsis_nn is None or checkout.cmsis_nn_pin is None or mentioned is None:
        return None
    return OtherCmsisNn(
        cmsis_nn=checkout.cmsis_nn,
        root=checkout.root,
        detail=error.message,
        pin=checkout.cmsis_nn_pin,
        log=log,
    )


def built(checkout: Checkout, parts: Parts, folder: Path) -> Runtime:
    """The runtime that `build` built in a folder."""
    libraries = {name: folder / f"lib{name}.a" for name in parts.targets}
    whole = libraries.pop(PRIMITIVES, None)
    return Runtime(
        include=checkout.include,
        libraries=tuple(libraries.values()),
        whole_libraries=() if whole is None else (whole,),
        definitions=("ET_LOG_ENABLED=0",),
    )

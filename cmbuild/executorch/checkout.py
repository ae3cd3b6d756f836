"""The user's checkout of ExecuTorch: where it is, its version, and what is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Missing, UsageError
from cmbuild.toolchain.versions import package

VARIABLE = "EXECUTORCH_ROOT"
CMSIS_NN_VARIABLE = "CMSIS_NN_ROOT"

# Files that the build and the registration of kernels read, besides sources.
_FILES = (
    "CMakeLists.txt",
    "version.txt",
    "backends/cortex_m/CMakeLists.txt",
    "backends/cortex_m/ops/operators.yaml",
    "codegen/gen.py",
    "codegen/templates",
    "kernels/portable/functions.yaml",
    "runtime/executor/method.h",
    "schema/program.fbs",
)

# Parts of a checkout that are compiled, or configure the build.
_SOURCES = (
    "CMakeLists.txt",
    "backends/cortex_m",
    "codegen",
    "extension/data_loader",
    "kernels",
    "runtime",
    "schema",
    "shim_et/xplat/executorch/build",
    "third-party/CMakeLists.txt",
    "tools/cmake",
    "version.txt",
)
_CMSIS_NN_SOURCES = ("CMakeLists.txt", "Include", "Source")

# Submodules that a build for Cortex-M may configure; those that its own CMake names are needed.
_SUBMODULES = ("flatbuffers", "flatcc", "json", "gflags")


class NoCheckout(Missing):
    template = "--executor executorch needs a checkout of ExecuTorch"
    hint = (
        "git clone --branch v{version} --depth 1 https://github.com/pytorch/executorch, then "
        "--executorch-root DIR, EXECUTORCH_ROOT=DIR, or root in [executorch] of cmbuild.toml"
    )


class NotACheckout(UsageError):
    template = "{root} is not a checkout of ExecuTorch: {reason}"


class NotCmsisNn(UsageError):
    template = "{cmsis_nn} is not CMSIS-NN: Include/arm_nnfunctions.h not found"
    hint = "git clone https://github.com/ARM-software/CMSIS-NN, then {variable}=DIR"


class OtherVersion(UsageError):
    template = "{root} is ExecuTorch {found}, but programs are exported with {version}"
    hint = (
        "git -C {root} fetch --depth 1 origin tag v{version} && git -C {root} checkout v{version}"
    )


class MissingPieces(Missing):
    template = "{root} lacks {pieces}"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout that can be built.

    Attributes:
        root: a folder called `executorch`, as its sources require.
        version: from its version.txt.
        cmsis_nn: sources of CMSIS-NN; the checkout's own build fetches them if None.
    """

    root: Path
    version: str
    cmsis_nn: Path | None

    @property
    def sources(self) -> list[Path]:
        """Files and folders that are compiled, or configure the build; those of CMSIS-NN, too."""
        own = [] if self.cmsis_nn is None else [self.cmsis_nn / name for name in _CMSIS_NN_SOURCES]
        return [self.root / name for name in _SOURCES] + own

    @property
    def flatbuffers(self) -> str | None:
        """The version of its FlatBuffers headers: `24.3.25`."""
        file = self.root / "third-party/flatbuffers/include/flatbuffers/base.h"
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        parts = [
            re.search(rf"^#define FLATBUFFERS_VERSION_{name}\s+(\d+)", text, re.MULTILINE)
            for name in ("MAJOR", "MINOR", "REVISION")
        ]
        return ".".join(part[1] for part in parts if part is not None) or None

    @property
    def cmsis_nn_pin(self) -> str | None:
        """The commit or tag of CMSIS-NN that the checkout's own build fetches."""
        file = self.root / "backends/cortex_m/CMakeLists.txt"
        text = file.read_text(encoding="utf-8", errors="replace")
        tag = re.search(r"\bGIT_TAG\s+\"?([^\s\")]+)", text)
        variable = tag and re.fullmatch(r"\$\{(\w+)\}", tag[1])
        if variable:
            tag = re.search(rf"\bset\(\s*{variable[1]}\s+\"?([^\s\")]+)", text)
        return tag[1] if tag else None

    @property
    def include(self) -> Path:
        """Where `#include <executorch/…>` begins."""
        return self.root.parent


def find_root(
    option: Path | None, project: Path | None, environ: Mapping[str, str] = os.environ
) -> Path:
    """The checkout's folder: from the option, the environment, or the project.

    Raises:
        NoCheckout: none of them names one.
    """
    variable = environ.get(VARIABLE)
    named = option or (Path(variable) if variable else None) or project
    if named is None:
        raise NoCheckout(version=installed() or "1.5.1")
    return named.absolute()


def find_cmsis_nn(project: Path | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The user's own sources of CMSIS-NN: from the environment, or the project."""
    variable = environ.get(CMSIS_NN_VARIABLE)
    named = Path(variable) if variable else project
    return None if named is None else named.absolute()


def inspect(root: Path, cmsis_nn: Path | None, version: str | None) -> Checkout:
    """Checks that a checkout is complete and of the right version.

    Args:
        version: of the ExecuTorch that exports programs; None if unknown.

    Raises:
        NotACheckout, OtherVersion, MissingPieces, NotCmsisNn.
    """
    if not (root / "version.txt").is_file():
        reason = "version.txt not found" if root.is_dir() else "no such folder"
        raise NotACheckout(root=root, reason=reason)
    if root.name != "executorch":
        hint = f"its sources rely on that name: mv {root} {root.with_name('executorch')}"
        raise NotACheckout(root=root, reason="the folder must be called executorch", hint=hint)
    missing = [name for name in _FILES if not (root / name).exists()]
    if missing:
        hint = f"git -C {root} checkout -- {' '.join(missing)}"
        raise MissingPieces(root=root, pieces=", ".join(missing), hint=hint)
    release = (root / "version.txt").read_text(encoding="utf-8", errors="replace").strip()
    if version is not None and _minor(release) != _minor(version):
        raise OtherVersion(root=root, found=release or "(unknown version)", version=version)
    if missing := [name for name in _submodules(root) if not _is_filled(root / name)]:
        hint = f"git -C {root} submodule update --init --depth 1 {' '.join(missing)}"
        raise MissingPieces(root=root, pieces=", ".join(missing), hint=hint)
    if cmsis_nn is not None and not (cmsis_nn / "Include" / "arm_nnfunctions.h").is_file():
        raise NotCmsisNn(cmsis_nn=cmsis_nn, variable=CMSIS_NN_VARIABLE)
    return Checkout(root, release, cmsis_nn)


def installed() -> str | None:
    """The version of the installed ExecuTorch: `1.5.1`; None if not installed."""
    version = package("executorch")
    return None if version is None else version.partition("+")[0]


def _minor(version: str) -> str:
    """`1.5` of `1.5.1` and `1.5.0a0+abc`."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else version


def _submodules(root: Path) -> list[str]:
    """The submodules that the checkout's own CMake names."""
    file = root / "third-party" / "CMakeLists.txt"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    return [f"third-party/{name}" for name in _SUBMODULES if re.search(rf"\b{name}\b", text)]


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())

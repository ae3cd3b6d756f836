"""libs: the runtime library for a CPU, with one toolchain."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from cmbuild import paths
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.folders import remove
from cmbuild.cache.store import Entry
from cmbuild.firmware.builder import LIBRARY, Builder
from cmbuild.image.archive import check_archive
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.toolchain.toolchains import HOST, Toolchain, find_toolchain
from cmcompiler.extension import Extension
from cmcompiler.target import Target

SOURCES = ("CMakeLists.txt", "cmake", "include", "isa", "kernels", "libc", "runner")
"""Parts of the runtime that are in the library, or configure its build."""


class LibraryStage(Stage):
    """One library for all models and boards with the same CPU; in the cache of the user."""

    kind = StageKind.LIBS
    verb = "built"
    shared = True
    travels = True

    def __init__(
        self, target: Target, toolchain: str, ops: Extension, context: WorkContext, folder: Path
    ) -> None:
        """
        Args:
            toolchain: its name.
            ops: the project's, whose kernels are in the library too.
            folder: of all libraries, in the cache.
        """
        self.target = target
        self.is_host = toolchain == HOST
        words = (target.cpu, target.isa.label, target.fpu and f"fpu-{target.fpu}", toolchain)
        self.name = toolchain if self.is_host else "-".join(filter(None, words))
        self.subject = "this computer" if self.is_host else f"{target.cpu} {target.isa.label}"
        self.ops = ops
        self.toolchain_name = toolchain
        self._context = context
        self._folder = folder

    @cached_property
    def toolchain(self) -> Toolchain:
        log = self._context.logs / f"toolchain-{self.name}.txt"
        return find_toolchain(self.toolchain_name, self._context.processes, log)

    @property
    def builder(self) -> Builder:
        return Builder(self._context.processes, self.toolchain, self.target, self.ops.kernels)

    def parts(self) -> Mapping[str, Value]:
        return toolchain_parts(self.toolchain, self.target) | {
            "sources": [paths.runtime() / name for name in SOURCES],
            "kernels": self.ops.kernels,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self.name}-{self.fingerprint[:16]}")

    @property
    def archive(self) -> Path:
        return self.entry.folder / LIBRARY

    def inspect(self, folder: Path) -> None:
        check_archive(folder / LIBRARY)

    def check(self) -> None:
        """
        Raises:
            MissingTool: no compiler found.
        """
        self.toolchain  # noqa: B018

    def make(self, folder: Path) -> None:
        if self.ops.kernels is not None:
            from cmbuild.toolchain.kernel_sources import read_kernels

            # If two kernels have the same name, a linker silently takes the first.
            read_kernels(self.ops.kernels)
        built = self.builder.library(folder / "build")
        shutil.move(built, folder / LIBRARY)
        remove(folder / "build", folder)

    def summary(self) -> str:
        return f"{self.subject}, {self.toolchain.title}"


def toolchain_parts(toolchain: Toolchain, target: Target) -> dict[str, Value]:
    """Inputs of a compiled file besides its source and runtime/cmake, which has the flags."""
    return {
        "toolchain": [toolchain.name, str(toolchain.compiler), toolchain.version],
        "target": [target.cpu, target.isa.label, target.fpu],
    }

"""package: a model as source for another build: C, weights, I/O header, test vectors, checksums."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cmbuild import paths, text
from cmbuild.cache.fingerprint import Value, files
from cmbuild.cache.store import STAMP, Entry
from cmbuild.files import copy
from cmbuild.pipeline.floats import float_use, has_fpu
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.results import PackageResult
from cmbuild.toolchain import versions
from cmbuild.toolchain.kernel_sources import read_kernels
from cmbuild.verify.comparison import to_memory
from cmcompiler.emit.files import ASSEMBLY, C_FILE, HEADER, RECORD, WEIGHTS
from cmcompiler.target import Target

if TYPE_CHECKING:
    from cmcompiler.emit.io_header import VectorData

MANIFEST = "package.json"
KERNELS = "kernels"
"""Folder of a project's own kernels, in a package."""

LISTS = "CMakeLists.txt"
LICENSE = "LICENSE"
SOURCES = (
    "cmake/sources.cmake",
    "include",
    "isa",
    "kernels",
    "package/ticks.c",
    "runner/state.c",
    "runner/static_executor.c",
    "runner/step.c",
    "vectors/vectors.c",
)
"""Parts of the runtime in a package that includes it."""

# As in zephyr/CMakeLists.txt: files with such kernels belong to CONFIG_CMBUILD_FLOAT.
_FLOAT_KERNEL = re.compile(r"^void cm_[a-z0-9_]+_f32\(", re.MULTILINE)


class Manifest(BaseModel):
    """package.json.

    Attributes:
        cmbuild: the version that made it.
        model: prefix of the emitted symbols.
        identity: of program and plan, as the firmware reports it.
        target, isa: what it was planned for; the build must have kernels for exactly this `isa`.
        needs_float: whether it calls kernels that compute in float.
        samples: test vectors.
        files: SHA-256 of each other file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cmbuild: str
    model: str
    identity: str
    target: str
    isa: str
    needs_float: bool
    samples: int
    files: dict[str, str]


class PackageStage(Stage):
    """The package, in the build folder of model and core."""

    kind = StageKind.PACKAGE
    verb = "packed"

    def __init__(
        self, plan: PlanStage, reference: ReferenceStage, target: Target, form: str, folder: Path
    ) -> None:
        """
        Args:
            form: `zephyr` or `source`: see PackageRequest.
        """
        self.name = plan.name
        self.subject = f"{plan.source.name} for {target}"
        self.after = (plan, reference)
        self.plan = plan
        self.target = target
        self.form = form
        self._reference = reference
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        from cmcompiler.emit import io_header

        return {
            "plan": self.plan.fingerprint,
            "reference": self._reference.fingerprint,
            "target": str(self.target),
            "form": self.form,
            "runtime": [paths.runtime() / name for name in ("package", *SOURCES)]
            if self._has_runtime
            else [],
            "kernels": self.plan.source.ops.kernels,
            "emit": Path(io_header.__file__),
            "cmbuild": versions.own(),
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "package")

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest.model_validate_json((self.entry.folder / MANIFEST).read_bytes())

    def make(self, folder: Path) -> None:
        from cmcompiler.emit import io_header

        self.__dict__.pop("manifest", None)
        plan = self.plan.record
        for name in (C_FILE, HEADER, ASSEMBLY, WEIGHTS, RECORD):
            shutil.copyfile(self.plan.entry.folder / name, folder / name)
        if self.plan.source.ops.kernels is not None:
            copytree(self.plan.source.ops.kernels, folder / KERNELS)
        if self._has_runtime:
            for name in SOURCES:
                copytree(paths.runtime() / name, folder / "runtime" / name)
            shutil.copyfile(paths.runtime() / "package" / LISTS, folder / LISTS)
            shutil.copyfile(paths.data() / LICENSE, folder / LICENSE)
        needs_float = self._needs_float()
        (folder / io_header.IO_HEADER).write_text(io_header.io_header(plan, needs_float), "utf-8")
        source, assembly, data = io_header.vectors(plan, self._vectors())
        (folder / io_header.VECTORS).write_text(source, "utf-8")
        (folder / io_header.VECTORS_ASSEMBLY).write_text(assembly, "utf-8")
        (folder / io_header.VECTORS_DATA).write_bytes(data)
        manifest = Manifest(
            cmbuild=versions.own(),
            model=plan.model,
            identity=plan.identity,
            target=self.target.cpu,
            isa=plan.isa,
            needs_float=needs_float,
            samples=len(self._reference.samples),
            files={
                file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
                for file in files(folder)
            },
        )
        (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", "utf-8")

    def summary(self) -> str:
        count = text.plural(self.manifest.samples, "test vector")
        return f"{self.subject}, weights {text.size(self.plan.record.constant_bytes)}, {count}"

    def deliver(self, output_dir: Path | None) -> PackageResult:
        """The package's content; copies it into the user's folder, if one is given.

        Raises:
            NotWritable, NoSpace: that folder cannot be written.
        """
        made = folder = self.entry.folder
        if output_dir is not None:
            folder = output_dir.absolute()
            for file in files(made):
                if file.name != STAMP:
                    copy(file, folder / file.relative_to(made))
        plan, manifest = self.plan, self.manifest
        fpu = has_fpu(self.target.cpu, self.target.fpu)
        return PackageResult(
            model=manifest.model,
            target=manifest.target,
            isa=manifest.isa,
            identity=manifest.identity,
            samples=manifest.samples,
            weights=plan.source.weights,
            inputs=plan.inputs,
            outputs=plan.outputs,
            float=float_use(plan.source, plan.record, None, fpu),
            has_fpu=fpu,
            constant_bytes=plan.record.constant_bytes,
            arena_bytes=plan.record.arena_bytes,
            folder=folder,
        )

    @property
    def _has_runtime(self) -> bool:
        return self.form == "source"

    def _needs_float(self) -> bool:
        kernels = read_kernels()
        called = {step.kernel for step in self.plan.record.steps} & kernels.keys()
        files = {kernels[name].file for name in called}
        return any(_FLOAT_KERNEL.search(file.read_text(errors="replace")) for file in files)

    def _vectors(self) -> VectorData:
        from cmcompiler.emit.io_header import VectorData

        plan, samples = self.plan.record, self._reference.samples
        labels = samples.labels
        return VectorData(
            samples=len(samples),
            inputs=tuple(
                b"".join(to_memory(array, port) for array in stack)
                for stack, port in zip(samples.inputs, plan.inputs, strict=True)
            ),
            outputs=tuple(
                b"".join(to_memory(array, port) for array in stack)
                for stack, port in zip(self._reference.outputs, plan.outputs, strict=True)
            ),
            labels=None if labels is None else tuple(map(int, labels)),
        )


def copytree(source: Path, target: Path) -> None:
    """A file, or a folder except files that editors and Python leave."""
    for file in files(source) if source.is_dir() else [source]:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)

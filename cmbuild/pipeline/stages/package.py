"""package: a model as source for another build: C, weights, header, test vectors, checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths, text
from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.fingerprint import files as files_below
from cmbuild.cache.store import STAMP, Entry
from cmbuild.cycles.clock import ClockTable
from cmbuild.errors import UsageError
from cmbuild.launchers.registry import launchers_of, simulated_memory
from cmbuild.launchers.simulators.qemu import Qemu
from cmbuild.outputs.delivery import Destination, deliver
from cmbuild.packaging import mlperf
from cmbuild.packaging.footprint import Footprint, StackUse
from cmbuild.packaging.manifest import MANIFEST, Manifest, own_files
from cmbuild.packaging.measurement import (
    OPTIMISATION,
    find_compiler,
    measure_code,
    measured_stack,
)
from cmbuild.packaging.mlperf import BoardFiles
from cmbuild.pipeline.request import CONSTANTS, FEEDS, MLPERF, PackageRequest
from cmbuild.pipeline.results import PackageResult
from cmbuild.pipeline.stages.library import toolchain_parts
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.process import Processes
from cmbuild.toolchain import versions
from cmbuild.toolchain.kernel_sources import read_kernels
from cmbuild.toolchain.toolchains import DEFAULT, TOOLCHAINS, Toolchain, cpu_flags
from cmbuild.verify.comparison import to_memory
from cmcompiler.emit.files import WEIGHTS
from cmcompiler.errors import CompilerError
from cmcompiler.target import Target

if TYPE_CHECKING:
    from cmbuild.packaging.contents import PackagedModel
    from cmcompiler.emit.vectors import VectorData
    from cmcompiler.plan.record import PlanRecord

RUNTIME = ("cmake/float.cmake", "include", "isa", "kernels", "package", "runner", "vectors")
"""Parts of the runtime that packages are made from."""

# The rule of zephyr/CMakeLists.txt: files with such kernels belong to CONFIG_CMBUILD_FLOAT.
_FLOAT_KERNEL = re.compile(r"^void cm_[a-z0-9_]+_f32\(", re.MULTILINE)


class PackageStage(Stage):
    """The package, in the build folder of model and core."""

    kind = StageKind.PACKAGE
    verb = "packed"

    def __init__(
        self,
        plan: PlanStage,
        reference: ReferenceStage,
        target: Target,
        request: PackageRequest,
        folder: Path,
        *,
        processes: Processes,
        board: Board | None = None,
    ) -> None:
        """
        Args:
            request: has the layout, and how constants are written.
            board: whose files MLPerf Tiny's benchmark gets, if any.

        Raises:
            UsageError: arrays for a build that has no use for them, or a board without a terminal.
        """
        self.name = plan.name
        self.subject = f"{plan.source.name} for {target}"
        self.after = (plan, reference)
        self.plan = plan
        self.target = target
        self.form = request.form
        self._mix = request.source.mix
        self._has_arrays = request.constants != CONSTANTS[0]
        if self._has_arrays and not self._has_runtime:
            raise UsageError(
                message=f"--constants {request.constants} is not for Zephyr, which builds with gcc",
                hint="omit it, or --as source",
            )
        self._reference = reference
        self._folder = folder
        self._board = board
        self._processes = processes
        if board is not None:
            mlperf.check_terminal(board)

    def parts(self) -> Mapping[str, Value]:
        from cmbuild import packaging
        from cmcompiler.emit import interface

        compiler, stack = self._compiler, self._stack
        return {
            "plan": self.plan.fingerprint,
            "reference": self._reference.fingerprint,
            "target": str(self.target),
            "form": self.form,
            "arrays": self._has_arrays,
            "runtime": [paths.runtime() / name for name in RUNTIME] if self._has_runtime else [],
            "board": None if self._board is None else self._board.folder,
            "startup": [paths.runtime() / "cortexm", paths.runtime() / "mlperf"],
            "kernels": self.plan.source.ops.kernels,
            "emit": Path(interface.__file__).parent,
            "packaging": Path(packaging.__file__).parent,
            "cmbuild": versions.own(),
            "compiler": None if compiler is None else toolchain_parts(compiler, self.target),
            "stack": None if stack is None else stack.model_dump(),
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "package")

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest.model_validate_json((self.entry.folder / MANIFEST).read_bytes())

    def make(self, folder: Path) -> None:
        from cmbuild.packaging.spdx import spdx_document

        self.__dict__.pop("manifest", None)
        plan = self.plan.record
        model = self._model(plan)
        footprint = self._footprint(model)
        model = replace(model, notes=tuple(footprint.notes()))
        written = self._files(model)
        spdx = f"{plan.model}.spdx.json"
        bill = spdx_document(plan, written, versions.own(), (spdx, MANIFEST))
        for path, content in (written | {spdx: bill.encode()}).items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        record = self.plan.source.record
        manifest = Manifest(
            cmbuild=versions.own(),
            model=plan.model,
            identity=plan.identity,
            target=self.target.cpu,
            isa=plan.isa,
            needs_float=model.needs_float,
            samples=len(self._reference.samples),
            footprint=footprint,
            versions={} if record is None else record.versions,
            files={
                file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
                for file in files_below(folder)
            },
        )
        (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", "utf-8")

    def summary(self) -> str:
        count = text.plural(self.manifest.samples, "test vector")
        return f"{self.subject}, weights {text.size(self.plan.record.constant_bytes)}, {count}"

    def deliver(self, place: Destination | None) -> PackageResult:
        """The package's content; copies it into the user's folder, if one is given, in place of an
        earlier package there.

        Raises:
            NotOverwritten: files of others are in the way, or the earlier one's were changed.
            NotWritable, NoSpace: that folder cannot be written.
        """
        made = folder = self.entry.folder
        if place is not None:
            folder = place.folder.absolute()
            files = {
                folder / file.relative_to(made): file
                for file in files_below(made)
                if file.name != STAMP
            }
            own = own_files(folder)
            obsolete = [file for file in own if file not in files and file.is_file()]
            deliver(files, place.force, own=own, obsolete=obsolete)
        result = PackageResult.of(self.plan, self.manifest, self.target, folder)
        return replace(result, mix=self._mix)

    @property
    def _has_runtime(self) -> bool:
        return self.form != "zephyr"

    @cached_property
    def _compiler(self) -> Toolchain | None:
        return find_compiler(self._processes, self._log)

    @cached_property
    def _stack(self) -> StackUse | None:
        """The most stack that runs of this plan used in the model's build folder."""
        constants = (self.plan.entry.folder / WEIGHTS).read_bytes()
        return measured_stack(self.plan.record, constants, self.target.cpu, self._folder.parent)

    @property
    def _log(self) -> Path:
        return self._folder / "logs" / "footprint.txt"

    def _footprint(self, model: PackagedModel) -> Footprint:
        from cmbuild.packaging.contents import source_files

        plan, compiler, linked = model.record, self._compiler, None
        if compiler is None:
            how = f"for {TOOLCHAINS[DEFAULT].compiler.name} or CMake is not installed"
        else:
            how = f"for {compiler.title} does not compile it"
            files = source_files(model)
            linked = measure_code(
                plan.model,
                files,
                self.target,
                compiler,
                processes=self._processes,
                log=self._log,
            )
            if linked is not None:
                how = (
                    f"with every function of {plan.model}.h and what they call of newlib, "
                    f"compiled by {compiler.title} {OPTIMISATION} for {self.target.cpu}"
                )
        feed = self.plan.options.feed or FEEDS[0]
        return Footprint(
            code=None if linked is None else linked.code - plan.constant_bytes,
            compiled=how,
            static=None if linked is None else linked.variables,
            weights=plan.constant_bytes,
            arena=plan.arena_bytes,
            state=plan.state_bytes,
            stack=self._stack,
            feed=feed,
            rows_arena=self._rows_arena() if feed == FEEDS[0] else None,
        )

    def _rows_arena(self) -> int | None:
        """With `--feed rows`; None if no input of the model can come so."""
        if not self.plan.options.streams:
            return None
        from cmcompiler.plan.planner import make_plan

        source = self.plan.source
        options = replace(self.plan.options, feed="rows")
        try:
            with source.ops.registered():
                return make_plan(source.live_graph(), self.plan.isa, options).arena_bytes
        except CompilerError:
            return None

    def _files(self, model: PackagedModel) -> dict[str, bytes]:
        from cmbuild.packaging.contents import source_files, zephyr_files
        from cmbuild.packaging.layouts import laid_out
        from cmbuild.packaging.plain_text import plain_sources

        if self.form == MLPERF:
            files = mlperf.mlperf_files(model.interface, source_files(model), self._board_files())
            return plain_sources(files)
        if self._has_runtime:
            files = source_files(model)
            return plain_sources(laid_out(self.form, model.record, files, self.target.cpu))
        return plain_sources(zephyr_files(model))

    def _board_files(self) -> BoardFiles | None:
        """Raises MissingTool if CMake, which knows the flags for a core, is not installed."""
        if self._board is None:
            return None
        clock = self._board.table(ClockTable)
        launchers = launchers_of(self._board)
        simulated = next((each for each in launchers if isinstance(each, Qemu)), None)
        if simulated is not None:
            ticks = simulated.ticks_per_second
        elif clock is not None:
            ticks = clock.hertz
        else:
            raise UsageError(
                message=f"{self._board.name}: how fast its clock ticks is not known",
                hint="add [clock] with hertz to its board.toml",
            )
        memory, flags = simulated_memory(self._board), cpu_flags(DEFAULT, self.target)
        return BoardFiles(self._board, memory, ticks, flags)

    def _model(self, plan: PlanRecord) -> PackagedModel:
        from cmbuild.packaging.contents import PackagedModel
        from cmcompiler.emit.interface import PackageInterface
        from cmcompiler.frontend.model import Task

        source = self.plan.source
        record = source.record
        interface = PackageInterface.of(plan)
        if record is not None:
            interface = PackageInterface.of(
                plan,
                inputs=[port.name for port in record.inputs],
                outputs=record.outputs,
                classes=record.classes,
                is_classifier=record.task is Task.CLASSIFICATION,
            )
        return PackagedModel(
            interface,
            self._vectors(),
            self.plan.entry.folder,
            self._needs_float(),
            source.ops.kernels,
            self._has_arrays,
        )

    def _needs_float(self) -> bool:
        kernels = read_kernels()
        called = {step.kernel for step in self.plan.record.steps} & kernels.keys()
        files = {kernels[name].file for name in called}
        return any(_FLOAT_KERNEL.search(file.read_text(errors="replace")) for file in files)

    def _vectors(self) -> VectorData:
        from cmcompiler.emit.vectors import VectorData

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

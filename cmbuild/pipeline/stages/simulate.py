"""simulate: runs the image on the samples, and compares its outputs with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.cache.store import Entry
from cmbuild.cycles.counter import Counter, counter
from cmbuild.cycles.plugin import NoCounter
from cmbuild.errors import Failed
from cmbuild.files import check_input, check_output_folder, copy
from cmbuild.image.checks import OutsideMemory, check_image
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.execution import Execution, Interface, Request, execute, time_limit
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.selection import choose, hardware
from cmbuild.pipeline.floats import excess
from cmbuild.pipeline.request import RunRequest
from cmbuild.pipeline.stages.flash import FlashStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.process import Processes
from cmbuild.results import Cycles, Instructions, OpCount, OutputResult, RunResult

if TYPE_CHECKING:
    from cmbuild.verify.comparison import Comparison
    from cmcompiler.ir.reference import Array

_CLOCK_STANDS = "not counted: the clock of cm_board_ticks does not advance here"


class Mismatch(Failed):
    template = "{failed} of {samples} samples differ from the reference{first}"
    hint = "this is a bug in cmbuild or in a compiler; please report it with {folder}"


class ExecutorchMismatch(Mismatch):
    hint = (
        "docs/correctness.md lists where ExecuTorch's kernels compute something else; "
        "--executor static runs the same program with cmbuild's"
    )


class SimulateStage(RepeatedStage):
    """A run, never cached.

    Attributes:
        result: of the run, once it is done.
        outputs: of the samples, one array for each output; once it is done.
    """

    kind = StageKind.SIMULATE
    verb = "ran"
    result: RunResult | None = None

    def __init__(
        self,
        runner: RunnerStage,
        reference: ReferenceStage,
        request: RunRequest,
        processes: Processes,
        folder: Path,
        *,
        measured: ReferenceStage | None = None,
        flash: FlashStage | None = None,
    ) -> None:
        """
        Args:
            measured: the reference's outputs for the samples that the float model was run on.
            flash: flashes the image, for a run on hardware.
        """
        self.name = runner.name
        self.subject = runner.subject
        needed = (runner, reference, measured, flash)
        self.after = tuple(dict.fromkeys(stage for stage in needed if stage is not None))
        self.measured = measured
        self.flash = flash
        self.runner = runner
        self.reference = reference
        self._request = request
        self._processes = processes
        self._folder = folder
        self.outputs: Sequence[Array] = ()
        self._too_small: str | None = None
        self._uncounted: str | None = None

    @cached_property
    def launcher(self) -> Launcher:
        if self._request.on == "hardware":
            return hardware(self.runner.board, self._request.flashing.port)
        return choose(self.runner.board, self._request.launcher)

    def check(self) -> None:
        """
        Raises:
            UnknownName, LauncherMissing: see `choose`.
            UsageError: an input file does not exist.
        """
        self.launcher  # noqa: B018
        for file in self._request.sampling.inputs:
            check_input(file)
        check_output_folder(self._request.sampling.output_dir)

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "simulate")

    def summary(self) -> str:
        """`QEMU mps3-an547 (fvp not found)`, if a better one is not available."""
        known = launchers_of(self.runner.board)
        is_choice = self.launcher in known and self._request.launcher is None
        better = known[: known.index(self.launcher)] if is_choice else ()
        missing = [other.name for other in better if other.name != self._too_small]
        notes = [f"{', '.join(missing)} not found"] if missing else []
        notes += [f"{self._too_small} lacks memory"] if self._too_small else []
        return f"{self.launcher.title} ({'; '.join(notes)})" if notes else self.launcher.title

    def make(self, folder: Path) -> None:
        from cmbuild.verify.comparison import Comparison

        self._preflight()
        comparison = Comparison(self.reference)
        counter = self._counter(folder)
        launcher = self.launcher if counter is None else counter.launcher
        execution = self._execute(comparison.request(), folder / "streams", launcher)
        comparison.take(execution)
        cycles = None if counter is None else self._cycles(counter)
        if comparison.failed:
            self._trace(comparison, folder)
        self.outputs = comparison.outputs
        outputs = self._write_outputs(comparison.outputs, folder)
        self.result = self._result(comparison, execution, outputs, cycles)

    def verdict(self) -> Failed | None:
        if self.result is None:
            return None
        if self.result.verification.verified:
            return excess(self.result.float, self._request.limits.max_float)
        check = self.result.verification
        first = f", first at {check.first}" if check.first else ""
        kind = Mismatch if self.runner.executor == "static" else ExecutorchMismatch
        return kind(failed=check.failed, samples=check.samples, first=first, folder=self._folder)

    def _preflight(self) -> None:
        """Checks the image; falls back to a simulator with enough memory.

        Raises:
            OutsideMemory, Misaligned, BadReset, LacksKernels: see check_image.
        """
        try:
            self._check_image(self.launcher)
        except OutsideMemory:
            other = self._other_launcher()
            if other is None:
                raise
            self._check_image(other)
            self._too_small = self.launcher.name
            self.launcher = other

    def _check_image(self, launcher: Launcher) -> None:
        runner = self.runner
        check_image(runner.image, runner.board, runner.kernels, launcher.title, launcher.memory)

    def _other_launcher(self) -> Launcher | None:
        """The board's next launcher, unless the user chose one.

        Raises:
            LauncherMissing: it is not installed.
        """
        known = launchers_of(self.runner.board)
        if self._request.launcher is not None or self.launcher not in known:
            return None
        rest = known[known.index(self.launcher) + 1 :]
        if rest:
            rest[0].find()
        return rest[0] if rest else None

    def _counter(self, folder: Path) -> Counter | None:
        """What counts cycles; None where `_uncounted` says why it cannot."""
        if self._request.on == "hardware":
            return None
        if self.runner.executor != "static":
            self._uncounted = "of the static executor only"
            return None
        board, image = self.runner.board, self.runner.image
        try:
            return counter(self.launcher, board, image, folder, self._processes)
        except NoCounter as error:
            self._uncounted = error.reason
        return None

    def _cycles(self, counter: Counter) -> Cycles | None:
        log = self._folder / "logs" / "disassembly.txt"
        try:
            return counter.cycles(self.runner.plan.record, self._processes, log)
        except NoCounter as error:
            self._uncounted = error.reason
        return None

    def _execute(self, request: Request, streams: Path, launcher: Launcher) -> Execution:
        return execute(
            launcher,
            self._processes,
            self.runner.image,
            Interface.of(self.runner.plan.record),
            request,
            folder=streams,
            timeout=self._request.flashing.timeout or self._time_limit(request),
            log=self._folder / "logs" / "simulate.txt",
        )

    def _time_limit(self, request: Request) -> float:
        plan = self.runner.plan.record
        ports = sum(port.place.bytes for port in (*plan.inputs, *plan.outputs))
        a_sample = ports + sum(watch.size for watch in request.watches)
        handing_over = len(request.samples) * a_sample * self.launcher.seconds_per_byte
        return time_limit(plan.macs, len(request.samples)) + handing_over

    def _trace(self, comparison: Comparison, folder: Path) -> None:
        """Runs the first sample that differs again, and checks every op's result."""
        comparison.locate(
            self._execute(comparison.tracing_request(), folder / "trace", self.launcher)
        )

    def _write_outputs(self, stacks: Sequence[Array], folder: Path) -> list[Path]:
        """Writes output_0.npy, …: of the output's shape, or several samples stacked."""
        import numpy as np

        output_dir = self._request.sampling.output_dir
        wanted = output_dir and output_dir.absolute()
        names = [f"output_{index}.npy" for index in range(len(stacks))]
        for name, stack in zip(names, stacks, strict=True):
            np.save(folder / name, stack[0] if len(stack) == 1 else stack)
            if wanted is not None:
                copy(folder / name, wanted / name)
        return [(wanted or self.entry.folder) / name for name in names]

    def _result(
        self,
        comparison: Comparison,
        execution: Execution,
        outputs: Sequence[Path],
        cycles: Cycles | None,
    ) -> RunResult:
        from cmbuild.verify.quality import measure
        from cmcompiler.frontend.portability import lacking

        runner, plan = self.runner, self.runner.plan.record
        board, source = runner.board, runner.plan.source
        instructions = self._instructions(execution)
        counts = instructions.per_op or None
        quality = measure(self.reference, self.measured, comparison.outputs)
        return RunResult(
            model=source.name,
            board=board.name,
            target=board.cpu,
            isa=plan.isa,
            executor=runner.executor,
            launcher=self.launcher.name,
            machine=self.launcher.title,
            verification=comparison.verification(),
            weights=source.weights,
            inputs=runner.plan.inputs,
            outputs=tuple(
                OutputResult(**asdict(port), file=file)
                for port, file in zip(runner.plan.outputs, outputs, strict=True)
            ),
            best=comparison.best(),
            accuracy=quality.accuracy,
            fidelity=quality.fidelity,
            warnings=quality.warnings,
            lacking=lacking(source.operators()),
            float=runner.float_use(None if counts is None else [op.instructions for op in counts]),
            has_fpu=runner.has_fpu,
            instructions=instructions,
            cycles=cycles,
            uncounted=self._uncounted,
            macs=plan.macs,
            memory=runner.memory(execution.stack, execution.pools),
            folder=self._folder,
            artifacts={
                **runner.artifacts,
                "outputs": outputs[0].parent if outputs else self.entry.folder,
                "log": execution.log,
            },
        )

    def _instructions(self, execution: Execution) -> Instructions:
        count, steps = self.launcher.instructions, self.runner.plan.record.steps
        total = count(execution.ticks[0])
        if total is None:
            return Instructions(None, self.launcher.provenance)
        if total == 0:
            return Instructions(None, _CLOCK_STANDS)
        unit = self.launcher.unit
        per_op = tuple(
            OpCount(step.title, step.source, step.kernel, count(ticks) or 0, step.macs)
            for step, ticks in zip(steps, execution.step_ticks[0], strict=True)
        )
        return Instructions(total, self.launcher.provenance, per_op, unit=unit)

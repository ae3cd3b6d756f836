"""simulate: runs the image on the samples, and compares its outputs with the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.cache.store import Entry
from cmbuild.cycles.results import Cycles, Executed
from cmbuild.errors import CmbuildError, Failed, Interrupted
from cmbuild.files import check_input, check_output_folder, write
from cmbuild.image.checks import OutsideMemory, check_image
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.execution import (
    OUTPUT_STREAM,
    Execution,
    Interface,
    Request,
    execute,
    time_limit,
)
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.selection import choose
from cmbuild.outputs.delivery import Destination, check_delivery
from cmbuild.pipeline.events import StepProgress, no_progress
from cmbuild.pipeline.floats import excess
from cmbuild.pipeline.growth import samples_written
from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.pipeline.layers import layers as placed_layers
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.request import EXECUTORS, HARDWARE, SIMULATOR, ModelChoice, RunRequest
from cmbuild.pipeline.results import RunEvidence, RunResult
from cmbuild.pipeline.stages.export import ExportStage
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.process import Processes
from cmbuild.results import Instructions, OpCount
from cmbuild.verify.faithfulness import fault_of
from cmbuild.verify.shortfall import shortfall

if TYPE_CHECKING:
    from cmbuild.cycles.counter import Counter
    from cmbuild.pipeline.stages.flash import FlashStage
    from cmbuild.verify.comparison import Comparison
    from cmcompiler.ir.reference import Array

_OUTPUT = "output_{}.npy"
_CLOCK_STANDS = "not counted: the clock of cm_board_ticks does not advance here"
_BY_BLOCKS = "counted by {}, block by block"


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
        labelled: ReferenceStage | None = None,
        flash: FlashStage | None = None,
        sensitivity: Sequence[ExportStage] = (),
        note: Callable[[str], None] = lambda text: None,
        progress: StepProgress = no_progress,
    ) -> None:
        """
        Args:
            measured: the reference's outputs for the samples that the float model was run on.
            labelled: those for the project's labelled samples.
            flash: flashes the image, for a run on hardware.
            sensitivity: exports that may have measured what quantising each operator costs.
            note: shows a line at once.
            progress: shows how many samples have been run.
        """
        self.name = runner.name
        self.subject = runner.subject
        floats = (reference.real, labelled and labelled.real)
        needed = (runner, reference, measured, labelled, *floats, flash)
        self.after = tuple(dict.fromkeys(filter(None, needed)))
        self.measured = measured
        self.labelled = labelled
        self.flash = flash
        self._sensitivity = sensitivity
        self._note = note
        self._progress = progress
        self.runner = runner
        self.reference = reference
        self._request = request
        self._processes = processes
        self._folder = folder
        self.outputs: Sequence[Array] = ()
        self._too_small: str | None = None
        self._uncounted: str | None = None
        self._executed: Executed | None = None

    @property
    def source(self) -> ModelChoice:
        """The model, with what a name of the project stands for."""
        return self._request.build.source

    @cached_property
    def launcher(self) -> Launcher:
        request, board = self._request, self.runner.board
        if request.on == SIMULATOR:
            return choose(board, request.launcher)
        from cmbuild.hardware.method import Selection
        from cmbuild.launchers.real import hardware, probe, rack

        options = request.flashing
        if request.rack is not None:
            selection = Selection(options.volume, options.probe)
            return rack(board, request.rack, options.flash_method, selection, self._note)
        if request.on == HARDWARE:
            return hardware(board, options.port)
        return probe(board, options.flash_method, Selection(probe=options.probe))

    def check(self) -> None:
        """
        Raises:
            UnknownName, LauncherMissing: see `choose`.
            UsageError: an input file does not exist.
        """
        self.launcher.check(self._processes, self._folder / "logs")
        for file in self._request.sampling.inputs:
            check_input(file)
        wanted = self._request.sampling.output_dir
        check_output_folder(wanted)
        if wanted is not None:  # the others are known once there is a plan
            check_delivery([wanted / _OUTPUT.format(0)], self._request.build.source.force)

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
        is_real = self._request.on != SIMULATOR
        counting = None if is_real else self._counter(folder, self.launcher)
        launcher = self.launcher if counting is None else counting.launcher
        request = comparison.request()
        execution = self._execute(request, folder / "streams", launcher)
        comparison.take(execution)
        cycles = None if counting is None else self._cycles(counting)
        if is_real:
            cycles = self._estimate(request, folder)
        if comparison.failed:
            self._trace(comparison, folder)
        self.outputs = comparison.outputs
        outputs = self._write_outputs(comparison.outputs, folder)
        instructions = self._instructions(execution)
        self.result = RunResult.of(
            RunEvidence(
                request=self._request,
                runner=self.runner,
                launcher=self.launcher,
                reference=self.reference,
                measured=self.measured,
                labelled=self.labelled,
                comparison=comparison,
                execution=execution,
                outputs=outputs,
                instructions=instructions,
                cycles=cycles,
                uncounted=self._uncounted,
                layers=self._layers(instructions, cycles),
                folder=self._folder,
                made=self.entry.folder,
            )
        )
        from cmbuild.projects.figures import FILE, RunFigures

        plan, is_own = self.runner.plan.record, self.runner.executor == EXECUTORS[0]
        figures = RunFigures.of(self.result, plan.identity if is_own else None)
        write(folder / FILE, figures.model_dump_json() + "\n")

    def verdict(self) -> Failed | None:
        if self.result is None:
            return None
        if self.result.verification.verified:
            return (
                fault_of(self.result.faithfulness, self._folder)
                or excess(self.result.float, self._request.limits.max_float)
                or self._shortfall(self.result)
            )
        check = self.result.verification
        first = f", first at {check.first}" if check.first else ""
        kind = Mismatch if self.runner.executor == "static" else ExecutorchMismatch
        return kind(failed=check.failed, samples=check.samples, first=first, folder=self._folder)

    def _shortfall(self, result: RunResult) -> Failed | None:
        outputs = () if result.fidelity is None else result.fidelity.outputs
        return shortfall(result.faithfulness, outputs, self._request.quality.min_snr)

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
        image = self.runner.placed(launcher)
        check_image(
            image.file,
            image.record,
            image.board,
            kernels=self.runner.kernels,
            machine=launcher.title,
            memory=launcher.memory,
        )

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

    def _estimate(self, request: Request, folder: Path) -> Cycles | None:
        """The model's estimate for the first sample of a run on hardware, to stand beside what
        the board counted: the same image on a simulator. None where `_uncounted` says why not.
        """
        try:
            simulator = choose(self.runner.board)
            self._check_image(simulator)
            counting = self._counter(folder, simulator)
            if counting is None:
                return None
            once = replace(request, samples=request.samples[:1], watches=())
            self._execute(once, folder / "estimate", counting.launcher, log="estimate.txt")
        except CmbuildError as error:
            if isinstance(error, Interrupted):
                raise
            self._uncounted = error.message
            return None
        return self._cycles(counting)

    def _counter(self, folder: Path, launcher: Launcher) -> Counter | None:
        """The counter of cycles; None where `_uncounted` says why there is none."""
        from cmbuild.cycles.counter import counter
        from cmbuild.cycles.plugin import NoCounter

        if self.runner.executor != "static":
            self._uncounted = "of the static executor only"
            return None
        image = self.runner.placed(launcher)
        try:
            return counter(
                launcher,
                image.board,
                image.file,
                image.record,
                folder=folder,
                processes=self._processes,
            )
        except NoCounter as error:
            self._uncounted = error.reason
        return None

    @property
    def cycles_entry(self) -> Entry:
        """The place of what the timing model said."""
        return Entry(self._folder / "cycles")

    def _cycles(self, counting: Counter) -> Cycles | None:
        from cmbuild.cycles.plugin import NoCounter

        kept = self.cycles_entry
        try:
            cycles, self._executed = counting.counts(self.runner.plan.record, self._processes, kept)
            self._uncounted = counting.uncounted
            return cycles
        except NoCounter as error:
            self._uncounted = error.reason
        return None

    def _execute(
        self, request: Request, streams: Path, launcher: Launcher, log: str = "simulate.txt"
    ) -> Execution:
        interface = Interface.of(self.runner.plan.record)
        first, size = streams / OUTPUT_STREAM.format(0), next(iter(interface.outputs), 0)
        report = partial(self._progress, self.step)
        with samples_written(first, size, len(request.samples), report):
            return execute(
                launcher,
                self._processes,
                self.runner.placed(launcher).file,
                interface,
                request,
                folder=streams,
                timeout=self._request.flashing.timeout or self._time_limit(request),
                log=self._folder / "logs" / log,
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

        names = [_OUTPUT.format(index) for index in range(len(stacks))]
        for name, stack in zip(names, stacks, strict=True):
            np.save(folder / name, stack[0] if len(stack) == 1 else stack)
        wanted = self._request.sampling.output_dir
        if wanted is None:
            return [self.entry.folder / name for name in names]
        force = self._request.build.source.force
        Destination(wanted, force).put({name: folder / name for name in names})
        return [wanted.absolute() / name for name in names]

    def _layers(self, instructions: Instructions, cycles: Cycles | None) -> tuple[PlacedLayer, ...]:
        made = next(filter(is_made, self._sensitivity), None)
        costs = () if made is None else made.record.layers
        return placed_layers(
            self.runner.plan.record,
            self.runner.plan.source.record,
            instructions=[op.instructions for op in instructions.per_op],
            cycles=[] if cycles is None else [op.cycles for op in cycles.per_op],
            sensitivity={cost.node: cost.snr_db for cost in costs},
            names=self.runner.plan.source.layer_names,
        )

    def _instructions(self, execution: Execution) -> Instructions:
        count, steps = self.launcher.instructions, self.runner.plan.record.steps
        total = count(execution.ticks[0])
        unit, provenance = self.launcher.unit, self.launcher.provenance
        counts: Sequence[int] = [count(ticks) or 0 for ticks in execution.step_ticks[0]]
        if not total:
            if self._executed is None or self._request.on != SIMULATOR:
                return Instructions(None, provenance if total is None else _CLOCK_STANDS)
            total, counts = self._executed.total, self._executed.per_op
            provenance = _BY_BLOCKS.format(self.launcher.title)
        per_op = tuple(
            OpCount(step.title, step.source, step.kernel, taken, step.macs)
            for step, taken in (zip(steps, counts, strict=True) if counts else ())
        )
        return Instructions(total, provenance, per_op, unit=unit)

"""Results of runs, builds and packages, and how they are made of finished stages.

The order of fields is that of the keys in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.accuracy import Accuracy, Faithfulness, Fidelity, FloatUse
from cmbuild.cycles.results import Cycles
from cmbuild.display.fields import screen_only
from cmbuild.display.mixture import MixResult
from cmbuild.display.tables import HtmlTable
from cmbuild.pipeline.floats import float_use, has_fpu
from cmbuild.results import (
    Instructions,
    MemoryUse,
    OutputResult,
    PortResult,
    Score,
    Verification,
    WeightsResult,
)

if TYPE_CHECKING:
    from cmbuild.launchers.base import Launcher
    from cmbuild.launchers.execution import Execution
    from cmbuild.packaging.footprint import Footprint
    from cmbuild.packaging.manifest import Manifest
    from cmbuild.pipeline.layers import PlacedLayer
    from cmbuild.pipeline.request import RunRequest
    from cmbuild.pipeline.stages.plan import PlanStage
    from cmbuild.pipeline.stages.reference import ReferenceStage
    from cmbuild.pipeline.stages.runner import RunnerStage
    from cmbuild.verify.comparison import Comparison
    from cmcompiler.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """Stages and measurements that the result of a run is made of.

    Attributes:
        measured, labelled: references for the samples that the float model was run on, and for the
            project's labelled ones.
        outputs: files.
        uncounted: why there are no cycles.
        folder: of the build.
        made: what the run itself wrote.
    """

    request: RunRequest
    runner: RunnerStage
    launcher: Launcher
    reference: ReferenceStage
    measured: ReferenceStage | None
    labelled: ReferenceStage | None
    comparison: Comparison
    execution: Execution
    outputs: Sequence[Path]
    instructions: Instructions
    cycles: Cycles | None
    uncounted: str | None
    layers: tuple[PlacedLayer, ...]
    folder: Path
    made: Path


@dataclass(frozen=True, slots=True)
class RunResult(HtmlTable):
    """A finished run, verified or not.

    Attributes:
        launcher: `qemu`, `fvp`, `native`.
        machine: what it ran on, for people: `QEMU mps3-an547`.
        best: the best classes of the first sample, for a classifier.
        accuracy, fidelity: None without labels or without a float model.
        faithfulness: of every layer to the float model.
        warnings: why the outputs may be useless, though verified.
        lacking: operators that ExecuTorch's own runtime does not have.
        has_fpu: of the core; without one, floats are computed in software.
        cycles: None if not counted; `uncounted` then says why, on a simulator.
        macs, whole_macs: multiply-accumulates of one inference, and those of all channels.
        layers: an entry a step.
        folder: with everything built for the model on the board.
        artifacts: files and folders by kind.
        mix: how the precision of modules was chosen; None if it was not, by need.
    """

    COLUMNS = (
        *("model", "board", "isa", "verification.verified", "verification.samples"),
        *("accuracy.device", "instructions.total", "cycles.total", "cycles.milliseconds"),
        *("memory.flash.total", "memory.ram.total"),
    )

    model: str
    board: str
    target: str
    isa: str
    executor: str
    launcher: str
    machine: str
    verification: Verification
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[OutputResult, ...]
    best: tuple[Score, ...]
    accuracy: Accuracy | None
    fidelity: Fidelity | None
    faithfulness: Faithfulness
    warnings: tuple[str, ...]
    lacking: tuple[str, ...]
    float: FloatUse
    has_fpu: bool = field(metadata=screen_only())
    macs: int
    whole_macs: int
    instructions: Instructions
    cycles: Cycles | None
    uncounted: str | None = field(metadata=screen_only())
    layers: tuple[PlacedLayer, ...]
    memory: MemoryUse
    folder: Path = field(metadata=screen_only())
    artifacts: Mapping[str, Path]
    mix: MixResult | None = None

    @classmethod
    def of(cls, run: RunEvidence) -> RunResult:
        from cmbuild.verify.faithfulness import faithfulness, unnamed_loss
        from cmbuild.verify.quality import measure

        runner, plan = run.runner, run.runner.plan.record
        board, source = runner.board, runner.plan.source
        counts = run.instructions.per_op or None
        quality = measure(run.reference, run.measured, run.comparison.outputs, run.labelled)
        faithful = faithfulness(source.record)
        return cls(
            model=source.name,
            board=board.name,
            target=board.cpu,
            isa=plan.isa,
            executor=runner.executor,
            launcher=run.launcher.name,
            machine=run.launcher.title,
            verification=run.comparison.verification(),
            weights=source.weights,
            inputs=runner.plan.inputs,
            outputs=tuple(
                OutputResult(**asdict(port), file=file)
                for port, file in zip(runner.plan.outputs, run.outputs, strict=True)
            ),
            best=run.comparison.best(),
            accuracy=quality.accuracy,
            fidelity=_with_layers(quality.fidelity, faithful),
            faithfulness=faithful,
            warnings=(
                *quality.warnings,
                *faithful.warnings,
                *unnamed_loss(quality.fidelity, faithful),
            ),
            lacking=source.lacking,
            float=runner.float_use(None if counts is None else [op.instructions for op in counts]),
            has_fpu=runner.has_fpu,
            instructions=run.instructions,
            cycles=run.cycles,
            uncounted=run.uncounted,
            macs=plan.macs,
            whole_macs=plan.whole_macs,
            layers=run.layers,
            memory=runner.memory(run.execution.stack, run.execution.pools),
            folder=run.folder,
            mix=run.request.build.source.mix,
            artifacts={
                **runner.artifacts,
                "outputs": run.outputs[0].parent if run.outputs else run.made,
                "log": run.execution.log,
            },
        )


@dataclass(frozen=True, slots=True)
class BuildResult(HtmlTable):
    """Firmware that was built but not run.

    Attributes:
        mix: as in RunResult.
    """

    COLUMNS = ("model", "board", "isa", "macs", "memory.flash.total", "memory.ram.total")

    model: str
    board: str
    target: str
    isa: str
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    float: FloatUse
    has_fpu: bool = field(metadata=screen_only())
    macs: int
    whole_macs: int
    memory: MemoryUse
    artifacts: Mapping[str, Path]
    mix: MixResult | None = None

    @classmethod
    def of(cls, runner: RunnerStage, mix: MixResult | None) -> BuildResult:
        """The image and its sizes, without a run."""
        plan, source = runner.plan.record, runner.plan.source
        return cls(
            model=source.name,
            board=runner.board.name,
            target=runner.board.cpu,
            isa=plan.isa,
            weights=source.weights,
            inputs=runner.plan.inputs,
            outputs=runner.plan.outputs,
            float=runner.float_use(None),
            has_fpu=runner.has_fpu,
            macs=plan.macs,
            whole_macs=plan.whole_macs,
            memory=runner.memory(),
            artifacts=runner.artifacts,
            mix=mix,
        )


@dataclass(frozen=True, slots=True)
class PackageResult(HtmlTable):
    """A package of a model's source.

    Attributes:
        samples: test vectors.
        footprint: what it takes of a device.
        folder: of the package, where the user will look for it.
        mix: as in RunResult.
    """

    COLUMNS = ("model", "target", "isa", "samples", "constant_bytes", "arena_bytes", "folder")

    model: str
    target: str
    isa: str
    identity: str
    samples: int
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    float: FloatUse
    has_fpu: bool = field(metadata=screen_only())
    constant_bytes: int
    arena_bytes: int
    footprint: Footprint
    folder: Path
    mix: MixResult | None = None

    @classmethod
    def of(cls, plan: PlanStage, manifest: Manifest, target: Target, folder: Path) -> PackageResult:
        """
        Args:
            folder: where the package was put.
        """
        fpu, footprint = has_fpu(target.cpu, target.fpu), manifest.footprint
        assert footprint is not None  # always there in this version
        return cls(
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
            footprint=footprint,
            folder=folder,
        )


def _with_layers(fidelity: Fidelity | None, check: Faithfulness) -> Fidelity | None:
    if fidelity is None:
        return None
    return replace(fidelity, layers=check.layers, coarsest=next(iter(check.coarse), None))

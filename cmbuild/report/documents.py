"""The JSON documents that `--json` prints: one object a command, on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import StepOutcome
from cmbuild.results import RunResult


class Document(BaseModel):
    """Takes its fields from a dictionary or from an object's attributes; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class ErrorDocument(Document):
    """A command that failed: what standard error says, for programs."""

    error: str
    hint: str | None
    exit_code: int

    @classmethod
    def of(cls, error: CmbuildError) -> ErrorDocument:
        return cls(error=error.message, hint=error.hint, exit_code=int(error.exit_code))


class StepDocument(Document):
    """A step of the work; `state` is cached, done, failed or skipped."""

    name: str
    subject: str
    state: str
    seconds: float

    @classmethod
    def of(cls, outcome: StepOutcome) -> StepDocument:
        return cls(
            name=outcome.step.kind,
            subject=outcome.text,
            state=outcome.state.value,
            seconds=round(outcome.seconds, 3),
        )


class WeightsDocument(Document):
    source: str
    detail: str


class PortDocument(Document):
    """An input or output; `shape` is logical, as torch's `x.shape`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    scale: float | None
    zero_point: int | None


class OutputDocument(PortDocument):
    """`file` has its value for the first sample."""

    file: str


class ScoreDocument(Document):
    index: int
    label: str
    value: float


class AccuracyDocument(Document):
    correct: int
    total: int


class OpDocument(Document):
    """One kernel call."""

    title: str
    source: str
    kernel: str
    instructions: int
    macs: int


class InstructionsDocument(Document):
    """Of one inference; `total` is null where the launcher cannot count. What is counted is `unit`:
    `instructions`, or `cycles` on hardware.
    """

    total: int | None
    unit: str
    provenance: str
    per_op: tuple[OpDocument, ...]


class FlashUseDocument(Document):
    """Loaded bytes: `weights` are the packed constants, `code` all others."""

    code: int
    weights: int
    total: int
    capacity: int | None


class PoolDocument(Document):
    """Bytes; `used` is the high-water mark."""

    name: str
    used: int
    size: int


class RamUseDocument(Document):
    """Bytes; `state` is part of `arena`, `pools` of `static`, `stack` the high-water mark, `total`
    the sum.
    """

    arena: int
    state: int
    static: int
    stack: int | None
    total: int
    capacity: int | None
    pools: tuple[PoolDocument, ...]


class MemoryDocument(Document):
    flash: FlashUseDocument
    ram: RamUseDocument


class RunDocument(Document):
    """`cmbuild run`; `error`, `hint` and `exit_code` are there only if it failed."""

    model: str
    board: str
    target: str
    isa: str
    executor: str
    launcher: str
    machine: str
    verified: bool
    rule: str
    samples: int
    mismatches: int
    first_difference: str | None
    weights: WeightsDocument
    inputs: tuple[PortDocument, ...]
    outputs: tuple[OutputDocument, ...]
    top: tuple[ScoreDocument, ...]
    accuracy: AccuracyDocument | None
    macs: int
    instructions: InstructionsDocument
    memory: MemoryDocument
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, Path]

    @classmethod
    def of(cls, run: RunResult, steps: Sequence[StepOutcome]) -> RunDocument:
        check = run.verification
        outputs = [
            {**PortDocument.model_validate(output.port).model_dump(), "file": str(output.file)}
            for output in run.outputs
        ]
        named = ("model", "board", "target", "isa", "executor", "launcher", "machine", "macs")
        return cls.model_validate(
            {
                **{name: getattr(run, name) for name in named},
                "verified": check.verified,
                "rule": check.rule,
                "samples": check.samples,
                "mismatches": check.mismatches,
                "first_difference": check.first,
                "weights": run.weights,
                "inputs": run.inputs,
                "outputs": outputs,
                "top": run.best,
                "accuracy": run.accuracy,
                "instructions": run.instructions,
                "memory": {"flash": run.flash, "ram": run.ram},
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": run.artifacts,
            }
        )

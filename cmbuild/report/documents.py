"""The JSON documents that `--json` prints: one object per command, on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from cmbuild.accuracy import Accuracy, Fidelity, FloatUse
from cmbuild.cycles.results import Cycles
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import StepOutcome
from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.results import Instructions, MemoryUse, OutputResult, PortResult, Score, WeightsResult


class Document(BaseModel):
    """Takes its fields from a dictionary or from an object's attributes; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class ErrorDocument(Document):
    """A failed command: the content of standard error, for programs."""

    error: str
    hint: str | None
    exit_code: int

    @classmethod
    def of(cls, error: CmbuildError) -> ErrorDocument:
        return cls(error=error.message, hint=error.hint, exit_code=int(error.exit_code))


class StepDocument(Document):
    """A step of the work; `state` is cached, done, fetched, failed or skipped."""

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


D = TypeVar("D", bound="ResultDocument")


class ResultDocument(Document):
    """The results of a command, and the steps that led to them."""

    @classmethod
    def of(cls: type[D], result: object, steps: Sequence[StepOutcome], **others: object) -> D:
        """
        Args:
            result: has the fields of the document as attributes.
            others: the remaining fields.
        """
        same = {name: getattr(result, name) for name in cls.model_fields if hasattr(result, name)}
        return cls(**same | {"steps": tuple(map(StepDocument.of, steps))} | others)


class RunDocument(ResultDocument):
    """`cmbuild run`; `error`, `hint` and `exit_code` are present only if it failed."""

    model: str
    board: str
    target: str
    isa: str
    executor: str
    launcher: str
    machine: str
    verified: bool
    faithful: bool | None
    rule: str
    samples: int
    mismatches: int
    first_difference: str | None
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[OutputResult, ...]
    top: tuple[Score, ...]
    accuracy: Accuracy | None
    fidelity: Fidelity | None
    warnings: tuple[str, ...]
    lacking: tuple[str, ...]
    float: FloatUse
    macs: int
    whole_macs: int
    instructions: Instructions
    cycles: Cycles | None
    layers: tuple[PlacedLayer, ...]
    memory: MemoryUse
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, Path]

"""The figures of a run that budgets and comparisons look at, from its result or its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from cmbuild.accuracy import CoarseLayer
from cmbuild.pipeline.results import RunResult

FILE = "figures.json"
"""Beside the outputs of a run."""


class _Part(BaseModel):
    """Some keys of a run's JSON; others are ignored, such as those of later versions."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FlashFigures(_Part):
    code: int
    weights: int
    total: int


class RamFigures(_Part):
    arena: int
    static: int
    stack: int | None
    total: int


class MemoryFigures(_Part):
    flash: FlashFigures
    ram: RamFigures


class OpFigures(_Part):
    """A kernel call."""

    title: str
    source: str
    kernel: str
    instructions: int


class InstructionFigures(_Part):
    total: int | None
    unit: str
    per_op: tuple[OpFigures, ...]


class FlashCycleFigures(_Part):
    total: int


class CycleFigures(_Part):
    """`with_flash` is null where the board's flash is not described; earlier versions had none."""

    total: int
    milliseconds: float | None
    with_flash: FlashCycleFigures | None = None


class AccuracyFigures(_Part):
    reference: float
    samples: int


class OutputFigures(_Part):
    """`snr_db` is null where there is no error at all."""

    snr_db: float | None


class FidelityFigures(_Part):
    """`snr_db` is null where there is no error at all.

    Attributes:
        outputs: each by itself; earlier versions did not have them.
        coarsest: the layer of which rounding leaves least; None if it takes nothing.
    """

    snr_db: float | None
    outputs: tuple[OutputFigures, ...] = ()
    coarsest: CoarseLayer | None = None


class FloatFigures(_Part):
    share: float


class RunFigures(_Part):
    """Cost and quality of a run.

    Attributes:
        faithful: whether its layers are the float model's; None where they were not compared.
        pte: bytes of the program; None if its file is gone.
        target: the core; earlier versions did not have it, nor what follows.
        machine: what it ran on: `QEMU mps3-an547`.
        identity: of the plan; None for another executor's program.
    """

    model: str
    board: str
    verified: bool
    faithful: bool | None = None
    accuracy: AccuracyFigures | None
    fidelity: FidelityFigures | None
    float: FloatFigures
    instructions: InstructionFigures
    cycles: CycleFigures | None
    memory: MemoryFigures
    pte: int | None = None
    target: str | None = None
    machine: str | None = None
    identity: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_size(cls, data: Any) -> Any:
        """A run's JSON names the program."""
        if not isinstance(data, Mapping) or "pte" in data:
            return data
        artifacts = data.get("artifacts")
        program = artifacts.get("program") if isinstance(artifacts, Mapping) else None
        try:
            size = None if program is None else Path(program).stat().st_size
        except OSError:
            size = None
        return {**data, "pte": size}

    @classmethod
    def of(cls, run: RunResult, identity: str | None = None) -> RunFigures:
        others = {
            "identity": identity,
            "verified": run.verification.verified,
            "faithful": run.faithfulness.faithful,
        }
        return cls.model_validate(asdict(run) | others)

    @property
    def title(self) -> str:
        return f"{self.model} on {self.board}"

"""plan.json: a plan for tools that do not read the program itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from cmcompiler.ir.arithmetic import Arithmetic
from cmcompiler.ir.op import OUTSIDE, TILES
from cmcompiler.ir.quantization import Quantization
from cmcompiler.plan.abi import BRANCH, STREAM


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlaceRecord(_Record):
    """Bytes of the arena or of the constants, or those that come from outside."""

    base: Literal["arena", "constants", "outside"]
    offset: int
    bytes: int


class TensorRecord(_Record):
    """A tensor in memory, in its physical shape; dtype is NumPy's name."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: PlaceRecord


class PortRecord(_Record):
    """An input or output: see cmcompiler.ir.graph.Port.

    Attributes:
        shape: logical, torch's `x.shape`.
        exact: bit-exact to the reference; always true for inputs.
        feed: `rows` if an input comes row by row, or an output goes so; else `whole`.
        rows: how many of equal size come or go in a run; None for a whole one.
    """

    name: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    layout: str
    dtype: str
    quantization: Quantization | None
    note: str
    place: PlaceRecord
    exact: bool
    feed: Literal["whole", "rows"] = "whole"
    rows: int | None = None


class StepRecord(_Record):
    """A kernel call: see cmcompiler.plan.plan.PlanStep.

    Attributes:
        isa: whose version of the microkernel runs; None for a kernel without one.
        fallback: why that is not the plan's own, or None.
        arithmetic: of its operands.
        whole_macs, channels, live_channels: see PlanStep.
        writes: tensors that are complete after this step.
        constant_bytes: packed constants of which it is the first reader.
        stages: how many of the following steps are the stages of a stream.
        turns: those stages in the order in which their kernels are called.
    """

    title: str
    source: str
    kernel: str
    rows: tuple[int, int]
    microkernel: str | None
    isa: str | None
    fallback: str | None
    macs: int
    whole_macs: int
    exact: bool
    arithmetic: Arithmetic
    writes: tuple[TensorRecord, ...]
    constant_bytes: int = 0
    stages: int = 0
    turns: tuple[int, ...] = ()
    channels: int | None = None
    live_channels: int | None = None

    @property
    def is_call(self) -> bool:
        """It calls a kernel."""
        return self.kernel not in (BRANCH, STREAM, TILES, *OUTSIDE)


class ArenaUseRecord(_Record):
    """See cmcompiler.plan.plan.ArenaUse."""

    tensors: int
    rings: int
    scratch: int


class PeakRecord(_Record):
    """See cmcompiler.plan.plan.Peak.

    Attributes:
        step: index of the step.
        tensors: names and bytes.
        makers: indices of the steps that complete them; None for inputs, states and tensors of
            which only rows are in memory.
    """

    step: int
    bytes: int
    scratch: int
    tensors: tuple[tuple[str, int], ...]
    makers: tuple[int | None, ...]


class PlanRecord(_Record):
    """A plan without its words and constants.

    Attributes:
        model: prefix of the emitted symbols.
        identity: of program and plan, as in cm_program.
        states: mutable buffers, in the arena.
        constant_bytes, arena_bytes: slack included.
        state_bytes: bytes of the arena that mutable buffers take.
        timeline: an entry a step; none for another executor's program.
        least_bytes: of arena, which any plan of these ops in this order needs.
        verified: the rule for comparing outputs with the reference.
        whole_macs: multiply-accumulates with all channels, before pruning.
    """

    model: str
    identity: str
    isa: str
    steps: tuple[StepRecord, ...]
    inputs: tuple[PortRecord, ...]
    outputs: tuple[PortRecord, ...]
    states: tuple[TensorRecord, ...]
    constant_bytes: int
    arena_bytes: int
    state_bytes: int
    timeline: tuple[ArenaUseRecord, ...]
    peak: PeakRecord | None
    least_bytes: int
    verified: Literal["exact", "tolerance"]
    macs: int
    whole_macs: int

    @property
    def has_runs(self) -> bool:
        """Some steps run in tiles of columns."""
        return any(step.kernel == TILES for step in self.steps)

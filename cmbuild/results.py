"""Results of stages: what a model needs, what it computes, and where its files are.

The order of fields is that of the keys in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.boards.memory import RegionUse
from cmbuild.display.mixture import MixResult

if TYPE_CHECKING:
    from cmcompiler.frontend.job import ExportRecord


@dataclass(frozen=True, slots=True)
class PortResult:
    """An input or output as the user of the firmware sees it.

    Attributes:
        shape: logical, torch's `x.shape`.
        layout: of it in memory: `channels-last`, `contiguous`, or a dim order.
        scale, zero_point: of the tensor, or of the quantize or dequantize next to a float one;
            None if there is neither.
        activations: `int8` or `int16`, which the program computes with there; None if neither.
        feed: `rows` if an input comes row by row, and RAM never holds it whole; else `whole`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    scale: float | None
    zero_point: int | None
    activations: str | None
    feed: str


@dataclass(frozen=True, slots=True)
class OutputResult(PortResult):
    """An output of the run's first sample.

    Attributes:
        file: `.npy` of the port's logical shape and dtype.
    """

    file: Path


@dataclass(frozen=True, slots=True)
class Score:
    """One of a classifier's best classes."""

    index: int
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Verification:
    """How the outputs compare with the reference.

    Attributes:
        rule: `exact`: bit by bit; `tolerance`: 1e-5 relative, or 1 step if quantised.
        samples: compared.
        failed: samples with a mismatch.
        mismatches: output elements outside of the rule, over all samples.
        first: the first op that differs, if known.
    """

    rule: str
    samples: int
    failed: int
    mismatches: int
    first: str | None = None

    @property
    def verified(self) -> bool:
        return self.failed == 0 and self.samples > 0


@dataclass(frozen=True, slots=True)
class OpCount:
    """Instructions that one kernel call took, one inference.

    Attributes:
        title: of the op, as grouped on the screen: `conv2d 1×1`.
        source: the operator and instruction of the program.
        kernel: C function.
    """

    title: str
    source: str
    kernel: str
    instructions: int
    macs: int


@dataclass(frozen=True, slots=True)
class Instructions:
    """Instructions of one inference, or its cycles on hardware.

    Attributes:
        total: the whole inference; None where the launcher cannot count.
        provenance: how they were counted: `simulated (QEMU -icount)`.
        unit: `instructions` or `cycles`.
    """

    total: int | None
    unit: str = field(default="instructions", kw_only=True)
    provenance: str
    per_op: tuple[OpCount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashUse:
    """Bytes that are loaded: constants packed by the plan, and everything else.

    Attributes:
        capacity: what the board has; None on a computer.
    """

    code: int
    weights: int
    total: int = field(init=False, default=0)
    capacity: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.code + self.weights)


@dataclass(frozen=True, slots=True)
class PoolUse:
    """Memory besides the arena that an executor allocates from; part of the static variables.

    Attributes:
        used: bytes at its fullest, in the run.
        size: bytes.
    """

    name: str
    used: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RamUse:
    """Bytes of RAM in use.

    Attributes:
        arena: all activations and mutable buffers.
        static: other variables.
        state: of the arena, the mutable buffers.
        reserved: for the stack; 0 on a computer, whose operating system provides it.
        stack: of that, the high-water mark of the run; None if unknown.
        total: what the image takes of the board: `arena`, `static` and `reserved`.
        capacity: what the board has; None on a computer.
        pools: of the executor.
        weights: copied from flash to what is to spare; not part of `total`.
        code: kernels that are copied there, too; not part of `total`.
        stack_problem: why `reserved` is assumed: `walk calls itself`; None if it is not.
    """

    arena: int
    state: int = 0
    static: int
    reserved: int = 0
    stack: int | None
    total: int = field(init=False, default=0)
    capacity: int | None = None
    pools: tuple[PoolUse, ...] = ()
    weights: int = 0
    code: int = 0
    stack_problem: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.arena + self.static + self.reserved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaStep:
    """Bytes of the arena in use during a step, by kind.

    Attributes:
        title: of the step.
        tensors: whole ones.
        rings: the rows that are held of others.
        scratch: the least that the step needs.
    """

    title: str
    tensors: int
    rings: int
    scratch: int

    @property
    def total(self) -> int:
        return self.tensors + self.rings + self.scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorUse:
    """A tensor in the arena.

    Attributes:
        step: index of the layer that completes it; None for inputs, states and tensors of which
            only rows are in memory.
    """

    name: str
    bytes: int
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaPeak:
    """The step during which most of the arena is in use.

    Attributes:
        step: its index.
        source: the operator and instruction of the program.
        bytes: in use.
        tensors: those alive, the largest first; rows only of some, and memory that one takes over
            from another counts in `bytes` once.
    """

    step: int
    title: str
    source: str
    bytes: int
    tensors: tuple[TensorUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaResult:
    """The arena over time.

    Attributes:
        least: bytes that any plan of these operators in this order needs.
        lower_bound: bytes that are in use at once, so no layout of these steps takes less.
        timeline: an entry a step.
    """

    least: int
    lower_bound: int
    peak: ArenaPeak
    timeline: tuple[ArenaStep, ...]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of a board's memory in use.

    Attributes:
        arena: None for another executor's program.
        regions: those that the image uses; none on a computer.
    """

    flash: FlashUse
    ram: RamUse
    arena: ArenaResult | None = None
    regions: tuple[RegionUse, ...] = ()


@dataclass(frozen=True, slots=True)
class WeightsResult:
    """Where the model's weights come from.

    Attributes:
        source: `pretrained`, `random`, `trained`, `file`, `given`, or `program` for a `.pte`.
    """

    source: str
    detail: str

    @property
    def is_random(self) -> bool:
        return self.source == "random"


@dataclass(frozen=True, slots=True)
class ExportResult:
    """An exported program.

    Attributes:
        program: the `.pte`; the record and the samples lie beside it.
        mix: as in RunResult.
    """

    record: ExportRecord
    program: Path
    samples: Path
    mix: MixResult | None = None

    @property
    def weights(self) -> WeightsResult:
        return WeightsResult(self.record.weights.source.value, self.record.weights.detail)


@dataclass(frozen=True, slots=True)
class FlashResult:
    """A flashed board, or what flashing it would do.

    Attributes:
        actions: what was done, or would be.
        place: where the image was written; None for a dry run.
        confirmed: the port at which it greets; None if it did not respond.
        doubt: why not.
        identity: of the image, which it greets with.
    """

    model: str
    board: str
    method: str
    actions: tuple[str, ...]
    place: str | None
    confirmed: str | None
    doubt: str | None
    identity: str
    artifacts: Mapping[str, Path]

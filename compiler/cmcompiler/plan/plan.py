"""A plan: the kernel calls, constants and arena layout that a graph becomes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from cmcompiler.ir.graph import Port
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import BRANCH, REF_CONSTANT


class Base(Enum):
    """What a place in memory is relative to."""

    ARENA = "arena"
    CONSTANTS = "constants"


@dataclass(frozen=True, slots=True)
class Ref:
    """A place in memory, cm_ref in C.

    Attributes:
        offset: bytes from the base, below 2 GiB.
    """

    base: Base
    offset: int

    @property
    def word(self) -> int:
        """As an unsigned 32-bit word."""
        return self.offset | (REF_CONSTANT if self.base is Base.CONSTANTS else 0)

    def __str__(self) -> str:
        return f"{self.base.value} + {self.offset}"


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes in memory.

    Attributes:
        size: bytes.
    """

    ref: Ref
    size: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of a kernel's argument struct."""

    name: str
    value: int | float | Ref

    @property
    def word(self) -> int:
        """As an unsigned 32-bit word; a float as the bits of the nearest float32."""
        if isinstance(self.value, Ref):
            return self.value.word
        if isinstance(self.value, float):
            with np.errstate(over="ignore"):
                bits: int = struct.unpack("<I", np.float32(self.value).tobytes())[0]
            return bits
        return self.value & 0xFFFFFFFF


@dataclass(frozen=True)
class PlanStep:
    """One kernel call, or a branch over the steps that follow.

    Attributes:
        node: index of the graph's node it belongs to; of the first one inside for a branch.
        title, source: of that node, for people.
        kernel: C function without the prefix `cm_`; BRANCH for a branch.
        arguments: the words of its argument struct, in order; struct cm_branch for a branch.
        rows: output rows [y0, y1); (0, 0) for kernels that take whole tensors.
        microkernel: the inner loop that it uses, or None.
        provider: the instruction set whose version of the microkernel is linked, or None.
        macs: multiply-accumulates of the node, on the last of its steps; 0 on the others.
        scratch: memory of the arena that is the step's own while it runs.
        writes: tensors that are complete after this step.
        exact: the outputs equal the reference to the bit, all steps before included.
    """

    node: int
    title: str
    source: str
    kernel: str
    arguments: tuple[Argument, ...]
    rows: tuple[int, int] = (0, 0)
    microkernel: str | None = None
    provider: Isa | None = None
    macs: int = 0
    scratch: tuple[Span, ...] = ()
    writes: tuple[Tensor, ...] = ()
    exact: bool = True

    @property
    def is_branch(self) -> bool:
        return self.kernel == BRANCH


@dataclass(frozen=True, slots=True)
class StateBuffer:
    """Memory that keeps its content from one run to the next.

    Attributes:
        tensor: what a run finds in it.
        span: in the arena; nothing else ever lies there.
        initial: the bytes that a reset puts there; None for zeros.
    """

    tensor: Tensor
    span: Span
    initial: Ref | None


@dataclass(frozen=True)
class Peak:
    """The step at which most of the arena is in use.

    Attributes:
        size: bytes in use, each tensor and the scratch rounded up to 16.
        tensors: those alive; one that takes over the memory of another stands beside it.
        scratch: bytes of the step's own.
    """

    step: int
    size: int
    tensors: tuple[Tensor, ...]
    scratch: int


@dataclass(frozen=True)
class Plan:
    """All that the device does for a graph, on cores with `isa`; knows no board.

    Attributes:
        steps: in execution order.
        constants: packed weights, tables and constant tensors, SLACK included.
        arena_bytes: size of the arena, SLACK included.
        places: where each tensor of the graph that a step or a port touches lies.
        inputs, outputs: of the graph; their memory is found through `places`.
        states: mutable buffers.
        peak: what makes the arena as large as it is; None if there are no steps.
        exact_outputs: per output, whether it equals the reference to the bit.
    """

    name: str
    isa: Isa
    steps: tuple[PlanStep, ...]
    constants: bytes = field(repr=False)
    arena_bytes: int
    places: Mapping[Tensor, Ref] = field(repr=False)
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    peak: Peak | None
    exact_outputs: tuple[bool, ...]
    states: tuple[StateBuffer, ...] = ()

    @property
    def state_bytes(self) -> int:
        """Bytes of the arena that keep their content from one run to the next."""
        return sum(buffer.span.size for buffer in self.states)

    @property
    def macs(self) -> int:
        return sum(step.macs for step in self.steps)

    @property
    def exact(self) -> bool:
        """All outputs equal the reference to the bit."""
        return all(self.exact_outputs)

    def fallback(self, step: PlanStep) -> str | None:
        """Why a step does not run at the plan's own instruction set; None if it does."""
        if step.microkernel is None or step.provider is None or step.provider == self.isa:
            return None
        return f"{step.microkernel} has no {self.isa.label} version; {step.provider.label} is used"

"""A plan: the kernel calls, constants and arena layout of a graph."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from cmcompiler.ir.arithmetic import Arithmetic
from cmcompiler.ir.graph import Port
from cmcompiler.ir.op import DRAIN, FEED, OUTSIDE, TILES, Reach
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import BRANCH, REF_CONSTANT, STREAM
from cmcompiler.plan.runs.tile_calls import TileCalls


class Base(Enum):
    """The base that an address is relative to."""

    ARENA = "arena"
    CONSTANTS = "constants"


@dataclass(frozen=True, slots=True)
class Ref:
    """An address, cm_ref in C.

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
    """Bytes in memory."""

    ref: Ref
    size: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of a kernel's argument struct.

    Attributes:
        bits: that it has there; narrow ones fill words of 32 bits together.
    """

    name: str
    value: int | float | Ref
    bits: int = 32

    @property
    def word(self) -> int:
        """As unsigned bits; a float as those of the nearest float32."""
        if isinstance(self.value, Ref):
            return self.value.word
        if isinstance(self.value, float):
            with np.errstate(over="ignore"):
                bits: int = struct.unpack("<I", np.float32(self.value).tobytes())[0]
            return bits
        return self.value & ((1 << self.bits) - 1)


def fill_words(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """With those that share a word as one of all their names, the first in its low bits.

    Raises:
        ValueError: a word is not filled.
    """
    words: list[Argument] = []
    names: list[str] = []
    value = filled = 0
    for argument in arguments:
        if argument.bits == 32 and not filled:
            words.append(argument)
            continue
        names.append(argument.name)
        value |= argument.word << filled
        filled += argument.bits
        if filled == 32:
            words.append(Argument(", ".join(names), value))
            names, value, filled = [], 0, 0
        elif filled > 32:
            break
    if filled:
        raise ValueError(f"{', '.join(names)} do not fill 32 bits")
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Fence:
    """The rows of an image that a stage may touch while it computes its rows; tests guard them.

    Attributes:
        ref: of row 0.
        row_bytes: of a row.
        ring: rows in memory.
        height: rows of the image.
        reach: rows of the image that it touches for each of its rows.
        scope: steps during which the image lies there; all but for a tile.
    """

    ref: Ref
    row_bytes: int
    ring: int
    height: int
    reach: Reach
    scope: range = range(0xFFFFFFFF)


@dataclass(frozen=True)
class PlanStep:
    """One kernel call, a branch over the steps that follow, or a stream of them.

    Attributes:
        node: index of the graph's node; for a branch or stream, of the first node inside.
        title, source: of that node, for people.
        kernel: C function without the prefix `cm_`; BRANCH for a branch, STREAM for a stream, FEED
            or DRAIN for a stage whose rows come from outside or go there, TILES for a run, whose
            calls follow it.
        arguments: the fields of its argument struct, in order; of struct cm_branch for a branch,
            of struct cm_row_stream for a stream, of struct cm_feed for FEED and DRAIN, of struct
            cm_tiles for TILES.
        stages: how many of the following steps are the stages of a stream.
        rows: output rows [y0, y1); (0, 0) for kernels that take whole tensors.
        microkernel: the inner loop that it uses, or None.
        provider: the instruction set whose version of the microkernel is linked, or None.
        macs: multiply-accumulates of the node, counted on its last step; 0 on the others.
        whole_macs: the same with all channels, before pruning.
        elements: of the node's outputs, counted likewise.
        scratch: arena memory reserved for the step while it runs.
        writes: tensors that are complete after this step.
        exact: outputs are bit-exact to the reference, as are those of all steps before.
        arithmetic: of the node.
        form, family: of the call.
        tiles: the calls of a step of a run.
        channels, live_channels: of the node's first output, before pruning and after it; None for
            a branch or stream.
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
    whole_macs: int = 0
    elements: int = 0
    scratch: tuple[Span, ...] = ()
    writes: tuple[Tensor, ...] = ()
    exact: bool = True
    arithmetic: Arithmetic = Arithmetic.INTEGER
    stages: int = 0
    turns: tuple[int, ...] = ()
    fences: tuple[Fence, ...] = ()
    form: type[Arguments] | None = None
    family: str = ""
    tiles: tuple[TileCalls, ...] = ()

    @property
    def typed(self) -> Arguments | None:
        """Its arguments as the struct that they fill; None if only C declares it."""
        if self.form is None:
            return None
        return self.form.of_words((each.name, each.value) for each in self.arguments)

    channels: int | None = None
    live_channels: int | None = None

    @property
    def words(self) -> tuple[Argument, ...]:
        """Its arguments in words of 32 bits."""
        return fill_words(self.arguments)

    @property
    def port(self) -> int:
        """Which input or output the rows of a FEED or DRAIN are of."""
        _, port, *_ = self.arguments
        assert self.kernel in OUTSIDE and isinstance(port.value, int)
        return port.value

    @property
    def is_branch(self) -> bool:
        return self.kernel == BRANCH

    @property
    def is_call(self) -> bool:
        """It calls a kernel."""
        return self.kernel not in (BRANCH, STREAM, TILES, *OUTSIDE)


@dataclass(frozen=True, slots=True)
class StateBuffer:
    """Memory that keeps its contents between runs.

    Attributes:
        tensor: its value at the start of a run.
        span: in the arena, never shared.
        initial: the bytes restored by a reset; None for zeros.
    """

    tensor: Tensor
    span: Span
    initial: Ref | None


@dataclass(frozen=True, slots=True)
class ArenaUse:
    """Bytes of the arena in use during a step, each block rounded up to 16.

    Attributes:
        tensors: whole ones.
        rings: of the stream that the step belongs to.
        scratch: the least that the step needs.
    """

    tensors: int
    rings: int
    scratch: int

    @property
    def total(self) -> int:
        return self.tensors + self.rings + self.scratch


@dataclass(frozen=True)
class Peak:
    """The step at which arena use is highest.

    Attributes:
        size: bytes in use, each tensor and the scratch rounded up to 16.
        tensors: those alive, including any whose memory another takes over.
        scratch: bytes of scratch the step uses.
    """

    step: int
    size: int
    tensors: tuple[Tensor, ...]
    scratch: int


@dataclass(frozen=True)
class Plan:
    """All that the device does for a graph, on cores with `isa`; independent of the board.

    Attributes:
        steps: in execution order.
        constants: packed weights, tables and constant tensors, SLACK included.
        arena_bytes: size of the arena, SLACK included.
        places: of every tensor that a step or a port touches.
        inputs, outputs: of the graph; `places` has their memory, unless they are fed.
        states: mutable buffers.
        timeline: of the arena, an entry a step.
        peak: what determines the arena's size; None if there are no steps.
        least_bytes: of arena, which no plan of ops in this order can do without.
        exact_outputs: per output, whether it is bit-exact to the reference.
    """

    name: str
    isa: Isa
    steps: tuple[PlanStep, ...]
    constants: bytes = field(repr=False)
    arena_bytes: int
    places: Mapping[Tensor, Ref] = field(repr=False)
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    timeline: tuple[ArenaUse, ...] = field(repr=False)
    peak: Peak | None
    least_bytes: int
    exact_outputs: tuple[bool, ...]
    states: tuple[StateBuffer, ...] = ()

    @property
    def state_bytes(self) -> int:
        """Bytes of the arena that keep their contents between runs."""
        return sum(buffer.span.size for buffer in self.states)

    @property
    def macs(self) -> int:
        return sum(step.macs for step in self.steps)

    @property
    def whole_macs(self) -> int:
        """Multiply-accumulates with all channels, before pruning."""
        return sum(step.whole_macs for step in self.steps)

    @property
    def exact(self) -> bool:
        """All outputs are bit-exact to the reference."""
        return all(self.exact_outputs)

    def rows_of(self, port: Port) -> int:
        """How many rows of a fed input or output come or go in a run: those of its step, by which
        the device counts.
        """
        is_input = any(port is other for other in self.inputs)
        kernel, ports = (FEED, self.inputs) if is_input else (DRAIN, self.outputs)
        # Each step takes some columns of as many rows where they are taken again.
        step = next(s for s in self.steps if s.kernel == kernel and ports[s.port] is port)
        first, end = step.rows
        return end - first

    def fallback(self, step: PlanStep) -> str | None:
        """Why a step does not use the plan's instruction set; None if it does."""
        if step.microkernel is None or step.provider is None or step.provider == self.isa:
            return None
        return f"{step.microkernel} has no {self.isa.label} version; {step.provider.label} is used"

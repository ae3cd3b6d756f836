"""The interface of an op: parameters, a NumPy reference, and the kernel calls that compute it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.words import (
    ALIGN,
    Address,
    Byte,
    GrowableScratch,
    Narrow,
    Packed,
    PackedPart,
    RingRows,
    RowAddress,
    RowCount,
    Scratch,
    ScratchCount,
    Short,
    TilePlace,
    Word,
    Words,
)
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel

__all__ = [
    "ALIGN",
    "DRAIN",
    "FEED",
    "NEAR_ROUNDING",
    "ONE_ROUNDING",
    "OUTSIDE",
    "TILES",
    "Address",
    "Array",
    "Byte",
    "GrowableScratch",
    "KernelCall",
    "Narrow",
    "Op",
    "Packed",
    "PackedPart",
    "Patch",
    "Reach",
    "RingRows",
    "RowAddress",
    "RowCall",
    "RowCount",
    "Scratch",
    "ScratchCount",
    "Short",
    "Tensors",
    "TilePlace",
    "TileRows",
    "TiledCall",
    "Word",
    "Words",
]

Array: TypeAlias = npt.NDArray[Any]
Tensors: TypeAlias = tuple[Tensor, ...]

ONE_ROUNDING = 0.5
"""Steps: half of one; multipliers of 32 bits add nothing that counts."""

NEAR_ROUNDING = 0.55
"""Steps of a function in integers that is near the real one before it is rounded."""


FEED, DRAIN = "feed", "drain"
OUTSIDE = (FEED, DRAIN)
"""Instead of a kernel's name: the interpreter of streams takes a row from outside."""


TILES = "tiles"
"""Instead of a kernel's name: the calls of a run, which makes its rows in tiles of columns."""


@dataclass(frozen=True)
class KernelCall:
    """One call of a C function `void cm_<kernel>(context, call)`.

    Attributes:
        kernel: name without the prefix `cm_`; defined in runtime/kernels/.
        arguments: the fields of the kernel's argument struct, in its order and by its names.
        rows: output rows [y0, y1) to compute; (0, 0) for kernels that take whole tensors.
        microkernel: the inner loop that dominates its time, or None.
        form: the struct that its arguments fill; None if only C declares it.
        family: of kernels whose work costs the same; empty if the kernel is alone.
    """

    kernel: str
    arguments: Sequence[tuple[str, Word]]
    rows: tuple[int, int] = (0, 0)
    microkernel: Microkernel | None = None
    form: type[Arguments] | None = None
    family: str = ""

    @classmethod
    def of(
        cls,
        kernel: str,
        arguments: Arguments,
        rows: tuple[int, int] = (0, 0),
        *,
        microkernel: Microkernel | None = None,
        family: str = "",
    ) -> KernelCall:
        """The call of a kernel with a declared struct."""
        return cls(kernel, arguments.words(), rows, microkernel, type(arguments), family)

    @cached_property
    def typed(self) -> Arguments | None:
        """Its arguments as that struct."""
        return None if self.form is None else self.form.of_words(self.arguments)

    @cached_property
    def scratch(self) -> tuple[GrowableScratch | Scratch, ...]:
        """The arguments that are memory for its own use."""
        return tuple(w for _, w in self.arguments if isinstance(w, GrowableScratch | Scratch))


@dataclass(frozen=True, slots=True)
class Reach:
    """The rows of an image that a row of a result takes; those outside the image do not count.

    Row y takes those from (y·factor + low) / divisor to (y·factor + high) / divisor, rounded down.
    """

    factor: int = 1
    low: int = 0
    high: int = 0
    divisor: int = 1

    def first(self, row: int) -> int:
        """The first row that `row` takes."""
        return (row * self.factor + self.low) // self.divisor

    def end(self, end: int) -> int:
        """The row after the last one that the rows before `end` take."""
        return ((end - 1) * self.factor + self.high) // self.divisor + 1


@dataclass(frozen=True, slots=True)
class Patch:
    """A word of 32 bits of a call's arguments that depends on the tile.

    Attributes:
        word: its index.
        second, last: its value for the second tile and the last one; the first one's is in the
            arguments.
        step: what it grows by from the second tile on, up to the last but one.
    """

    word: int
    second: Word
    step: int
    last: Word


@dataclass(frozen=True, slots=True)
class TileRows:
    """An image of which a run holds some columns of some rows.

    Attributes:
        place: in the scratch of the run.
        ring: rows in memory.
        height: rows of the image.
    """

    place: TilePlace
    row_bytes: int
    ring: int
    height: int


@dataclass(frozen=True)
class TiledCall:
    """A call of a run, once for each tile.

    Attributes:
        part: which op of the run it computes; None if it moves what one has computed.
        call: its arguments are those of the first tile.
        rows: which ones it makes for each row of the run.
        patches: arguments that depend on the tile.
        touched: what it reads and writes, by its own rows.
        alike: calls of single tiles with their own arguments, and how many tiles each is for.
    """

    part: int | None
    call: KernelCall
    rows: Reach
    patches: tuple[Patch, ...]
    touched: tuple[tuple[Tensor | TileRows, Reach], ...]
    alike: tuple[tuple[KernelCall, int], ...] = ()

    def rows_for(self, start: int, end: int) -> range:
        """The rows that it makes for rows [start, end) of the run."""
        first, last = self.call.rows
        begin = max(self.rows.first(start), first)
        return range(begin, min(self.rows.end(end), last))


@dataclass(frozen=True, slots=True)
class RowCall:
    """A kernel call that computes some or all rows of an op's output, from first to last.

    Attributes:
        call: its `rows` are all that it computes. If its arguments have a RowAddress, it computes
            one row at a time, or as many as one RowCount says; else the rows [y0, y1) of the call.
        reads: the rows that it takes of each image it reads row by row, which may be an earlier
            call's output; of other inputs it reads anything at any time.
        band: rows that it computes best at once.
        alone: instead of `call`, if that computes one row at a time with fewer instructions.
        first, step: its row y is row first + step·y of the output. If the step is 0, all rows add
            to an output that is there after the last one.
        tiled: the calls of a run, in order; their tiles are the scratch of its own call.
        tiles: how often these are made for each band.
    """

    call: KernelCall
    reads: Mapping[Tensor, Reach]
    band: int = 1
    alone: KernelCall | None = None
    first: int = 0
    step: int = 1
    tiled: tuple[TiledCall, ...] = ()
    tiles: int = 0

    def banded(self, band: int) -> RowCall:
        """A call for so many rows at once."""
        call = self.alone if band == 1 and self.alone is not None else self.call
        return replace(self, call=call, band=band)

    @property
    def is_alone(self) -> bool:
        return self.call is self.alone

    def output_row(self, row: int) -> int:
        return self.first + self.step * row

    @property
    def accumulates(self) -> bool:
        return self.step == 0


class Op(ABC):
    """The host's description of an op. Subclasses are frozen dataclasses of its parameters."""

    label: ClassVar[str]
    """Short name for people: `conv2d`, `add`. A subclass may refine it with a property `title`."""

    element: ClassVar[np.dtype[Any] | None] = None
    """Element type of the outputs, if it is always the same."""

    exact: ClassVar[bool] = True
    """Kernels are bit-exact to the reference."""

    transcendental: ClassVar[bool] = False
    """Computes exponentials, sines or the like in float, which every runtime rounds its own way."""

    error_steps: ClassVar[float] = NEAR_ROUNDING
    """Largest difference from exact arithmetic on the same inputs: in steps of a quantised result,
    in 2e-5 of the largest element of a float one. Nothing for ops that only move or choose.
    """

    fine_error_steps: ClassVar[float] = NEAR_ROUNDING
    """For int16 results, whose steps may be finer than the arithmetic that makes them."""

    @property
    def title(self) -> str:
        """As shown in tables: `conv2d 1×1`."""
        return self.label

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one execution."""
        return 0

    @property
    def in_place(self) -> frozenset[int]:
        """Inputs whose memory the first output may take over, element by element in order."""
        return frozenset()

    @property
    def view_of(self) -> int | None:
        """The input that the output is a view of; such an op has no kernel call."""
        return None

    @property
    def view_offset(self) -> int:
        """Bytes from that input's first element to the output's: a multiple of ALIGN."""
        return 0

    @property
    def widened(self) -> Op:
        """This op with int16 weights, where a kernel is faster with them; else itself."""
        return self

    @property
    def as_several_rows(self) -> Op:
        """This op by the matrix product of several rows, if one row has another; else itself."""
        return self

    def product_of_rows(self, isa: Isa) -> str | None:
        """Which matrix product of several rows its kernel calls take."""
        return None

    @property
    def turned(self) -> Op | None:
        """This op on images of one row or column, with columns for rows; None if it is not known.

        Such images are the same in memory.
        """
        return None

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """How the channels of its one int8 output depend on those of its int8 inputs; None if all
        must stay.
        """
        return None

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """The calls that compute its one output row by row; none if it needs whole tensors.

        Called for images [1, H, W, C] only; only calls that accumulate may have other outputs.
        """
        return ()

    @abstractmethod
    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        """Outputs for inputs, all in physical shapes; every kernel must match it."""

    def refusal(self, *inputs: Array) -> str | None:
        """Why the model has no result for the inputs, though kernels give one; None if it has."""
        return None

    @abstractmethod
    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The calls that compute the outputs on a core with `isa`."""

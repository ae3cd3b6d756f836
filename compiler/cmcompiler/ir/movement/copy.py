"""Copies strided windows of tensors into another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated, Any

import numpy as np

from cmcompiler.ir.channels import ChannelRule, channel_count
from cmcompiler.ir.layout import INLINE, Int32, Place, Settled, SettledSize, UInt32
from cmcompiler.ir.movement.copied_channels import CopyRule
from cmcompiler.ir.movement.lines import piece_rows
from cmcompiler.ir.movement.loops import Loops, Nest, Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.op import (
    Address,
    Array,
    KernelCall,
    Op,
    Reach,
    RowCall,
    RowCount,
    Tensors,
)
from cmcompiler.ir.rows import SAME, one_row, row_bytes, turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Isa, Microkernel

COPY_BLOCKS = Microkernel("copy_blocks_s8", dsp=True, mve=True)
FILL_BYTES = 8
"""Alignment of what the fill kernel writes, unless it is bytes."""

COPY_STRIDED = Microkernel("copy_strided", mve=True)


@dataclass(frozen=True)
class CopyArguments(Arguments):
    """Loops around rows of `count` elements, which are copied."""

    c_name = "cm_copy"

    input: Place
    output: Place
    around: Annotated[Nest, INLINE]
    rows: Settled
    count: Settled
    size: Annotated[Int32, "of an element"]
    input_step: Annotated[Int32, "steps in bytes"]
    output_step: Int32
    input_row: Int32
    output_row: Int32

    def moving(self, rows: int, elements: int, lanes: int) -> Work:
        """Segments are copied in whole vectors, and operands one by one: what lies apart."""
        count, size, turns = self.count, self.size, self.rows
        if not (isinstance(count, int) and isinstance(size, int) and isinstance(turns, int)):
            return Work()
        segments = elements // count if self.around.depth and elements else rows * turns
        if self.input_step == self.output_step == size:
            return Work(segments=segments, filled=segments * filled(count * size, lanes))
        return Work(segments=segments, operands=segments * count)


@dataclass(frozen=True)
class ColumnArguments(Arguments):
    """Bytes of each row of an image that go to a row of another ring, or elsewhere in the same."""

    c_name = "cm_copy_columns"

    source: Place
    source_row: Annotated[Int32, "bytes from row to row"]
    source_ring: Annotated[Int32, "rows in memory"]
    target: Place
    target_row: Int32
    target_ring: Int32
    bytes: Int32

    def of_tile(self, macs: int, outputs: int, rows: int, lanes: int) -> Work:
        del macs, lanes
        return Work(calls=1, segments=rows, gathered=outputs)


@dataclass(frozen=True)
class FillArguments(Arguments):
    """A tensor of which each element gets the same value."""

    c_name = "cm_fill"

    output: Place
    bytes: SettledSize
    low: Annotated[UInt32, "eight bytes of the value, repeated"]
    high: UInt32


@dataclass(frozen=True)
class Copy(Op):
    """Copies pieces in order; implements slice, concatenation and padding.

    Attributes:
        name: for people.
        dtype, shape: of the output, physical.
        pieces: in the order of copying.
        fill: value of the elements that no piece writes; None if there are none.
    """

    label = "copy"
    error_steps = fine_error_steps = 0.0

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]
    fill: int | float | bool | None = None

    @property
    def title(self) -> str:
        return self.name

    @property
    def turned(self) -> Copy:
        is_image = len(self.shape) == 4
        return replace(self, shape=turned_shape(self.shape)) if is_image else self

    @property
    def in_place(self) -> frozenset[int]:
        """The input that fills the output before other pieces are written."""
        first = self.pieces[0] if self.pieces else None
        if first is None or self.fill is not None or first.writes.numel != prod(self.shape):
            return frozenset()
        others = (piece.source for piece in self.pieces[1:])
        is_whole = is_unmoved(first.reads, first.writes) and first.source not in others
        return frozenset({first.source} if is_whole else ())

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        sources = tuple(map(channel_count, inputs))
        return CopyRule.of(self.pieces, self.fill, sources, self.shape, self._of_pieces)

    def _of_pieces(self, pieces: tuple[Piece, ...], shape: tuple[int, ...]) -> Copy:
        return replace(self, pieces=pieces, shape=shape)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        output = np.full(prod(self.shape), 0 if self.fill is None else self.fill, self.dtype)
        for piece in self.pieces:
            places = piece.writes.read(np.arange(output.size))
            output[places] = piece.reads.read(inputs[piece.source])
        return (output.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        output = outputs[0]
        calls = [] if self.fill is None else fill_call(output, self.fill)
        for piece in self.pieces:
            calls += copy_call(inputs[piece.source], piece.reads, output, piece.writes)
        return calls

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """First the fill of a row, then its pieces; none unless each is within rows."""
        output = outputs[0]
        calls: list[RowCall] = []
        over: dict[Tensor, Reach] = {}
        if self.fill is not None:
            size = row_bytes(output)
            if output.dtype.itemsize > 1 and size % FILL_BYTES:
                return []
            (fill,) = fill_call(output, self.fill)
            rows = output.shape[1]
            calls.append(RowCall(one_row(fill, rows, {output}, bytes=RowCount(size)), {}))
            over = {output: SAME}
        for piece in self.pieces:
            source = inputs[piece.source]
            lines = piece_rows(piece.reads, source, piece.writes, output)
            if lines is None:
                return []
            for call in copy_call(source, lines.reads, output, lines.writes):
                reads = {**lines.taken(source), **over}
                calls.append(RowCall(lines.moving(call, source, output), reads))
        return calls


def copy_call(source: Tensor, reads: Strided, output: Tensor, writes: Strided) -> list[KernelCall]:
    """Copies a window on one tensor to a window on another, of the same shape and dtype."""
    if reads.numel == 0:
        return []
    size = source.dtype.itemsize
    loops = Loops.over(reads, writes)
    # The kernel copies the two innermost loops at once; blocks of adjacent elements stay whole.
    loops = loops.longest_inside(kept=1 if loops.inner == (1, 1) else 0)
    outer = max(0, len(loops.counts) - 2)
    steps = [step * size for step in loops.inner]
    rows, row_steps = 1, [0, 0]
    if len(loops.counts) > 1:
        rows, row_steps = loops.counts[-2], [steps[-2] * size for steps in loops.steps]
    arguments = CopyArguments(
        input=Address(source, reads.offset * size),
        output=Address(output, writes.offset * size),
        around=loops.nest((size, size), outer),
        rows=rows,
        count=loops.counts[-1],
        size=size,
        input_step=steps[0],
        output_step=steps[1],
        input_row=row_steps[0],
        output_row=row_steps[1],
    )
    microkernel = COPY_BLOCKS if loops.inner == (1, 1) else COPY_STRIDED
    return [KernelCall.of("copy", arguments, microkernel=microkernel)]


def fill_call(output: Tensor, value: int | float | bool) -> list[KernelCall]:
    """Sets every element of a tensor."""
    if output.numel == 0:
        return []
    pattern = np.array(value, output.dtype).tobytes() * (8 // output.dtype.itemsize)
    low, high = (int.from_bytes(half, "little") for half in (pattern[:4], pattern[4:]))
    return [KernelCall.of("fill", FillArguments(Address(output), output.nbytes, low, high))]


def is_unmoved(reads: Strided, writes: Strided) -> bool:
    """Whether windows on all of two tensors traverse both in memory order."""
    if reads.numel == 0:
        return True
    loops = Loops.over(reads, writes)
    return reads.offset == writes.offset == 0 and loops.dense(0) and loops.dense(1)

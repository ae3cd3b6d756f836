"""Largest and smallest int8 numbers over dimensions that are next to each other in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call
from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Reach, RowCall, Scratch, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.arguments import ImageRows
from cmcompiler.ops.support.element_channels import MonotoneRule
from cmcompiler.ops.support.members import Members

EXTREME_ROWS = Microkernel("extreme_rows_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class ExtremeArguments(Arguments):
    """Extremes of the members of [outer, members, inner]."""

    c_name = "cm_extreme_s8"

    input: Place
    output: Place
    outer: Int32
    members: Int32
    inner: Int32
    flip: Int32


@dataclass(frozen=True)
class ExtremeImageArguments(Arguments):
    """Extremes over rows and columns of an image, row by row."""

    c_name = "cm_extreme_image_s8"

    input: ImageRows
    extremes: Annotated[Place, "so far; kept from call to call"]
    output: Place
    rows: Int32
    flip: Int32


@dataclass(frozen=True)
class Extreme(Op):
    """The largest members of int8 [outer, members, inner], or the smallest."""

    label = "extreme"
    error_steps = fine_error_steps = 0.0
    element = np.dtype(np.int8)

    is_maximum: bool
    outer: int
    members: int
    inner: int
    shape: tuple[int, ...]

    @property
    def title(self) -> str:
        return "amax" if self.is_maximum else "amin"

    @property
    def turned(self) -> Extreme:
        return self

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """Where the last dimension is not among the reduced ones."""
        if (inputs[0].shape[-1:], outputs[0].shape[-1:]) != ((self.inner,),) * 2:
            return None

        def of_channels(count: int) -> Op:
            return replace(self, inner=count, shape=(*self.shape[:-1], count))

        return MonotoneRule(self.inner, lambda numbers: numbers, of_channels)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = inputs[0].reshape(self.outer, self.members, self.inner)
        extremes: Array = x.max(axis=1) if self.is_maximum else x.min(axis=1)
        return (extremes.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = ExtremeArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            outer=self.outer,
            members=self.members,
            inner=self.inner,
            flip=self._flip,
        )
        return [KernelCall.of("extreme_s8", arguments, microkernel=EXTREME_ROWS)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """Over all rows and columns of an image, row by row."""
        _, height, width, channels = inputs[0].shape
        if (self.outer, self.members, self.inner) != (1, height * width, channels):
            return []
        arguments = ExtremeImageArguments(
            ImageRows.of(inputs[0]),
            extremes=Scratch(channels, kept=True),
            output=Address(outputs[0]),
            rows=height,
            flip=self._flip,
        )
        rows = (0, height)
        call = KernelCall.of("extreme_image_s8", arguments, rows, microkernel=EXTREME_ROWS)
        return [RowCall(call, {inputs[0]: Reach(1, 0, 0)}, step=0)]

    @property
    def _flip(self) -> int:
        """The mask that turns the extreme into the largest by an exclusive or."""
        return 0 if self.is_maximum else -1


def emit_extreme(
    call: Call, is_maximum: bool, source: Operand, dims: Sequence[int], output: Operand
) -> bool:
    """Emits the extreme of int8 over some dimensions, if they are next to each other in memory.

    Those of the output may be kept as 1 or left out.
    """
    keepdim = output.rank == source.rank
    if source.dtype != np.int8 or not (output.numel and dims):
        return False
    members = Members.of(source, dims, keepdim)
    if not members.is_unmoved or members.members == 0:
        return False
    kept = [1 if dim in dims else size for dim, size in enumerate(source.shape)]
    left = [size for dim, size in enumerate(source.shape) if dim not in dims]
    if list(output.shape) != (kept if keepdim else left):
        return False
    result = call.arranged_output(output, members.result_order)
    op = Extreme(is_maximum, members.outer, members.members, members.inner, result.shape)
    call.emit(op, [call.arrange(source, members.order)], [result])
    return True

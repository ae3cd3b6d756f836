"""Sums and means of quantised numbers over any dimensions: cmbuild::quantized_sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.channels import ChannelRule, Numbers
from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.op import (
    Address,
    Array,
    KernelCall,
    Op,
    RowCall,
    Scratch,
    Tensors,
)
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.element_channels import MonotoneRule
from cmcompiler.ops.support.members import Members
from cmcompiler.ops.support.parameters import INT8, Rescale, read_rescale, read_zero_point
from cmcompiler.ops.support.requantize import Range, RangedOp, rounding_steps
from cmcompiler.ops.support.row_sums import ADD_ROWS, RowSums, RowSumsArguments, accumulate

SUM_GROUPS = Microkernel("sum_groups_s8", dsp=True, mve=True)
SCALE_SUMS = Microkernel("scale_sums_s8", mve=True)
"""What makes int8 numbers of the sums, whichever way they were added up."""

MOST_MEMBERS = 1 << 22
"""Limit for a sum that fits 32 bits with its zero point."""

MOST_SHORT_MEMBERS = (1 << 16) - 1
"""Limit for a sum of int16 numbers that fits 32 bits."""


@dataclass(frozen=True)
class SumScale(Struct):
    """From sums of stored numbers to int8."""

    c_name = "cm_sum_scale"

    input_offset: Int32
    zero_point: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class QuantizedSumArguments(Arguments):
    """Sums over the members of [outer, members, inner]."""

    c_name = "cm_quantized_sum"

    input: Place
    output: Place
    sums: Place
    outer: Int32
    members: Int32
    inner: Int32
    scale: SumScale

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        """Vectors lie along the channels, of numbers side by side along the members."""
        vectors = (self.members, self.inner) if self.inner > 1 else (1, self.members)
        added = self.outer * vectors[0] * filled(vectors[1], lanes)
        return Work(macs, added, outputs, calls, pixels=self.outer)


@dataclass(frozen=True)
class QuantizedSumArguments16(Arguments):
    """Sums over the members of int16 [outer, members, inner]."""

    c_name = "cm_quantized_sum_s16"

    input: Place
    output: Place
    outer: Int32
    members: Int32
    inner: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class QuantizedSumRowsArguments(RowSumsArguments):
    """Sums over rows and columns of an image, row by row."""

    c_name = "cm_quantized_sum_rows"

    output: Place
    scale: SumScale


@dataclass(frozen=True)
class QuantizedSum(RangedOp):
    """clamp(rq(sum of x - zero point) + output's zero point) over [outer, members, inner].

    Elements are int8, or int16 with zero points of 0.

    Attributes:
        output: rescales the sum, as CMSIS-NN rounds.
    """

    label = "sum"

    outer: int
    members: int
    inner: int
    zero_point: int
    output: Rescale
    shape: tuple[int, ...]
    range: Range = INT8
    """The range of all numbers of the type."""

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return rounding_steps([self.output.shift])

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    @property
    def turned(self) -> QuantizedSum:
        return self

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """The rule of sums that keep the last dimension and rise with their members; else None."""
        ends = (inputs[0].shape[-1:], outputs[0].shape[-1:])
        if ends != ((self.inner,),) * 2 or self.output.multiplier < 0 or self.output.shift > 0:
            return None

        def of_members(numbers: Numbers) -> Array:
            members = np.broadcast_to(numbers.astype(np.int8), (self.members, numbers.size))
            (sums,) = replace(self, outer=1, inner=numbers.size, shape=numbers.shape).reference(
                members
            )
            return sums

        def of_channels(count: int) -> Op:
            return replace(self, inner=count, shape=(*self.shape[:-1], count))

        return MonotoneRule(self.inner, of_members, of_channels)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = inputs[0].reshape(self.outer, self.members, self.inner).astype(np.int32)
        sums = x.sum(axis=1, dtype=np.int32) - np.int32(self.members * self.zero_point)
        scaled = self.output.scale(sums).astype(np.int64) + self.output.zero_point
        return (self.range.clamp(scaled).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if self.element == np.int16:
            scale = self.output.multiplier, self.output.shift
            sizes = self.outer, self.members, self.inner
            short = QuantizedSumArguments16(Address(inputs[0]), Address(outputs[0]), *sizes, *scale)
            return [KernelCall.of("quantized_sum_s16", short)]
        arguments = QuantizedSumArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            sums=Scratch(4 * self.inner if self.inner > 1 else 0),
            outer=self.outer,
            members=self.members,
            inner=self.inner,
            scale=self._scale,
        )
        microkernel = ADD_ROWS if self.inner > 1 else SUM_GROUPS
        return [
            KernelCall(
                "quantized_sum",
                arguments.words(),
                microkernel=microkernel,
                form=QuantizedSumArguments,
            )
        ]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """Sums over all rows and columns of an image are added up row by row."""
        _, height, width, channels = inputs[0].shape
        if self.element == np.int16 or (self.outer, self.members, self.inner) != (
            1,
            height * width,
            channels,
        ):
            return []
        total = RowSums.of(inputs[0], range(height), range(width))
        arguments = QuantizedSumRowsArguments(total, Address(outputs[0]), self._scale)
        return [accumulate("quantized_sum_rows", inputs[0], arguments)]

    @property
    def _scale(self) -> SumScale:
        output = self.output
        offset = -self.members * self.zero_point
        return SumScale(offset, output.zero_point, output.multiplier, output.shift)


@program_op(
    "cmbuild::quantized_sum.out(Tensor input, int[] dims, bool keepdim, int zero_point, "
    "int output_zero_point, int output_multiplier, int output_shift, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out")
    dims = call.dimensions("dims", source.rank)
    keepdim = call.boolean("keepdim")
    shape = tuple(
        1 if dim in dims else size
        for dim, size in enumerate(source.shape)
        if keepdim or dim not in dims
    )
    if output.shape != shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)} over {list(dims)}")
    members = prod(source.shape[dim] for dim in dims)
    if not dims or not 1 <= members <= MOST_MEMBERS:
        call.unsupported(f"a sum of {members:,} elements, not 1 to {MOST_MEMBERS:,}")
    axes = Members.of(source, dims, keepdim)
    result = call.arranged_output(output, axes.result_order)
    op = QuantizedSum(
        axes.outer,
        members,
        axes.inner,
        read_zero_point(call, "zero_point"),
        read_rescale(call, "output"),
        result.shape,
    )
    call.emit(op, [call.arrange(source, axes.order)], [result])

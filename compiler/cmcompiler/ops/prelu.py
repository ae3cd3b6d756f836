"""ReLU with a slope below zero for each channel: cmbuild::quantized_prelu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.op import Address, Array, KernelCall, Packed, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.parameters import INT8, Rescale, read_zero_point
from cmcompiler.ops.support.requantize import Int32Array, Range, RangedOp

PRELU = Microkernel("prelu_s8", mve=True)

FACTOR_BITS = 22
"""Bits of factors and shifts: so sums of a product, an offset and a half fit 32 bits."""


@dataclass(frozen=True)
class SlopedRows(Struct):
    """Rows of channels, each with a factor below zero."""

    input: Place
    output: Place
    below: Place
    rows: Int32
    channels: Int32


@dataclass(frozen=True)
class PreluArguments(Arguments):
    """Factors within 32 bits, and one shift for all."""

    c_name = "cm_prelu_s8"

    operands: Annotated[SlopedRows, INLINE]
    above: Int32
    shift: Int32
    input_zero_point: Int32
    offset: Annotated[Int32, "added before the shift"]


@dataclass(frozen=True)
class PreluRescaledArguments(Arguments):
    """Factors that are rescaled as CMSIS-NN does, for int8 and int16 elements."""

    c_name = "cm_prelu_rescaled"

    operands: Annotated[SlopedRows, INLINE]
    input_zero_point: Int32
    zero_point: Int32
    above_multiplier: Int32
    above_shift: Int32
    below_multiplier: Int32
    below_shift: Int32


@dataclass(frozen=True, eq=False)
class Prelu(RangedOp):
    """clamp((above · max(x', 0) + below · min(x', 0) + half) >> shift) + zero_point).

    x' is x without its zero point; halves are rounded up. Shapes: any, channels last.

    With `rescales`, the first of them scales x' above zero, the second below · x' below zero.

    Attributes:
        below: a factor per channel.
        above: the factor of all channels.
        range: of int8, or of int16 with `rescales`.
    """

    label = "prelu"
    in_place = frozenset({0})

    below: Int32Array
    above: int
    shift: int
    input_zero_point: int
    zero_point: int
    rescales: tuple[Rescale, Rescale] | None = None
    range: Range = INT8

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = inputs[0].astype(np.int32) - self.input_zero_point
        if self.rescales is not None:
            above, below = self.rescales
            values = np.where(x >= 0, above.scale(x), below.scale(x * self.below))
            return (self.range.clamp(values.astype(np.int64) + self.zero_point),)
        scaled = self.above * np.maximum(x, 0) + self.below * np.minimum(x, 0)
        rounded = (scaled + (1 << self.shift >> 1)) >> self.shift
        return (INT8.clamp(rounded + self.zero_point),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        operands = SlopedRows(
            Address(inputs[0]),
            Address(outputs[0]),
            below=Packed(self.below.astype("<i4").tobytes()),
            rows=prod(outputs[0].shape[:-1]),
            channels=len(self.below),
        )
        if self.rescales is not None:
            above, below = self.rescales
            rescaled = PreluRescaledArguments(
                operands,
                input_zero_point=self.input_zero_point,
                zero_point=self.zero_point,
                above_multiplier=above.multiplier,
                above_shift=above.shift,
                below_multiplier=below.multiplier,
                below_shift=below.shift,
            )
            kernel = f"prelu_rescaled_s{8 * self.element.itemsize}"
            return [KernelCall.of(kernel, rescaled)]
        arguments = PreluArguments(
            operands,
            above=self.above,
            shift=self.shift,
            input_zero_point=self.input_zero_point,
            offset=(self.zero_point << self.shift) + (1 << self.shift >> 1),
        )
        return [KernelCall.of("prelu_s8", arguments, microkernel=PRELU)]


@program_op(
    "cmbuild::quantized_prelu.out(Tensor input, Tensor below, int above, int shift, "
    "int input_zero_point, int output_zero_point, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    """Channels are the second dimension."""
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    if source.shape != output.shape or source.rank < 2:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    below = call.constant("below", dtype=np.int32, rank=1)
    if len(below) != source.shape[1]:
        call.invalid(f"{len(below)} slopes for {source.shape[1]} channels")
    most = 1 << FACTOR_BITS
    if np.any((below < -most) | (below > most)):
        call.unsupported("a slope is out of range")
    op = Prelu(
        below,
        call.integer("above", -most, most),
        call.integer("shift", 0, FACTOR_BITS),
        read_zero_point(call, "input_zero_point"),
        read_zero_point(call, "output_zero_point"),
    )
    order = [0, *range(2, source.rank), 1]
    call.emit(op, [call.arrange(source, order)], [call.arranged_output(output, order)])

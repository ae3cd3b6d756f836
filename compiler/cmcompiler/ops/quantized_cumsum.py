"""Running sums of int8 or int16 elements along a dimension: cmbuild::quantized_cumsum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.parameters import (
    INT8,
    Rescale,
    read_rescale,
    read_same_type,
    read_zero_point,
)
from cmcompiler.ops.support.requantize import Range, RangedOp, rounding_steps
from cmcompiler.ops.support.running import RunningRows

MOST_ADDENDS = 1 << 22
"""Limit for a sum that fits 32 bits with its zero point."""

MOST_SHORT_ADDENDS = (1 << 15) - 1
"""Limit for a sum of int16 numbers that fits 32 bits with any zero point."""


@dataclass(frozen=True)
class QuantizedCumsumArguments(Arguments):
    """Running sums of int8 or int16 rows, rescaled."""

    c_name = "cm_quantized_cumsum"

    running: Annotated[RunningRows, INLINE]
    input_zero_point: Int32
    zero_point: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class QuantizedCumsum(RangedOp):
    """clamp(rq(sum of x - zero point up to each) + output's zero point).

    Attributes:
        source, output: windows on all of the tensors, the dimension of the sums last.
        rescale: of the sums, as CMSIS-NN rounds.
        shape: of the output, physical.
        range: of the type of elements and results.
    """

    label = "cumsum"

    source: Strided
    output: Strided
    zero_point: int
    rescale: Rescale
    shape: tuple[int, ...]
    range: Range = INT8

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return rounding_steps([self.rescale.shift])

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = self.source.read(inputs[0]).astype(np.int32) - np.int32(self.zero_point)
        sums = np.add.accumulate(x, axis=-1, dtype=np.int32)
        scaled = self.rescale.scale(sums).astype(np.int64) + self.rescale.zero_point
        return (self.output.write(self.range.clamp(scaled), self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = QuantizedCumsumArguments(
            RunningRows.of(inputs[0], self.source, outputs[0], self.output),
            input_zero_point=self.zero_point,
            zero_point=self.rescale.zero_point,
            multiplier=self.rescale.multiplier,
            shift=self.rescale.shift,
        )
        is_short = self.element == np.int16
        return [KernelCall.of("quantized_cumsum" + "_s16" * is_short, arguments)]


@program_op(
    "cmbuild::quantized_cumsum.out(Tensor input, int dim, int zero_point, int output_zero_point, "
    "int output_multiplier, int output_shift, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output, numbers = read_same_type(call)
    if source.shape != output.shape or not source.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    dim = call.dimension("dim", source.rank)
    most = MOST_ADDENDS if source.dtype == np.int8 else MOST_SHORT_ADDENDS
    if source.shape[dim] > most:
        call.unsupported(f"sums of {source.shape[dim]:,} elements, more than {most:,}")
    order = [*(axis for axis in range(source.rank) if axis != dim), dim]
    op = QuantizedCumsum(
        Strided.of(source).permute(order),
        Strided.of(output).permute(order),
        read_zero_point(call, "zero_point"),
        read_rescale(call, "output"),
        output.tensor.shape,
        numbers,
    )
    call.emit(op, [source.tensor], [output.tensor])

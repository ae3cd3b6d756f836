"""Quantised batched matrix product: cortex_m::quantized_batch_matmul."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Scratch, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.arguments import OutputValues
from cmcompiler.ops.support.convolution import check_output
from cmcompiler.ops.support.requantize import Requantize, rounding_steps
from cmcompiler.ops.support.requantize16 import SHORT_ROUNDING, reduced

MATMUL = Microkernel("matmul_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class BatchMatmulArguments(Arguments):
    """Products of int8 matrices, the second one transposed."""

    c_name = "cm_batch_matmul"

    lhs: Place
    rhs: Place
    output: Place
    workspace: Place
    batch: Int32
    rows: Int32
    columns: Int32
    depth: Int32
    lhs_offset: Int32
    rhs_offset: Int32
    multiplier: Int32
    shift: Int32
    values: Annotated[OutputValues, INLINE]


@dataclass(frozen=True)
class BatchMatmulArguments16(Arguments):
    """Products of int16 matrices, the second one transposed."""

    c_name = "cm_batch_matmul_s16"

    lhs: Place
    rhs: Place
    output: Place
    batch: Int32
    rows: Int32
    columns: Int32
    depth: Int32
    multiplier: Annotated[Int32, "of 15 bits"]
    shift: Int32


@dataclass(frozen=True)
class BatchMatmul(Op):
    """Products of matrices [B, M, K] and transposed ones [B, N, K], both computed at run time.

    They are int8, or int16 with zero points of 0.

    Attributes:
        shape: B, M, N, K.
        lhs_zero_point, rhs_zero_point: subtracted from the elements before they are multiplied.
        requantize: of one channel.
    """

    shape: tuple[int, int, int, int]
    lhs_zero_point: int
    rhs_zero_point: int
    requantize: Requantize

    label = "batch_matmul"

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.requantize.range.element

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return rounding_steps(self.requantize.shifts)

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return SHORT_ROUNDING

    @property
    def macs(self) -> int:
        return prod(self.shape)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        """Sums in float64 are exact below 2^53, then kept modulo 2^32."""
        if self.element == np.int16:
            wide = [each.astype(np.int64) for each in inputs]
            exact = wide[0] @ wide[1].transpose(0, 2, 1)
            return (self.requantize(exact[..., np.newaxis])[..., 0],)
        lhs = inputs[0].astype(np.float64) - self.lhs_zero_point
        rhs = inputs[1].astype(np.float64) - self.rhs_zero_point
        sums = (lhs @ rhs.transpose(0, 2, 1)).astype(np.int64)
        return (self.requantize(sums[..., np.newaxis])[..., 0],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        batch, rows, columns, depth = self.shape
        if self.element == np.int16:
            factor = int(reduced(np.array(self.requantize.multipliers))[0])
            short = BatchMatmulArguments16(
                Address(inputs[0]),
                Address(inputs[1]),
                Address(outputs[0]),
                *self.shape,
                multiplier=factor,
                shift=self.requantize.shifts[0],
            )
            return [KernelCall.of("batch_matmul_s16", short)]
        widened = -(-depth // 4) * 8
        arguments = BatchMatmulArguments(
            Address(inputs[0]),
            Address(inputs[1]),
            Address(outputs[0]),
            workspace=Scratch(widened if MATMUL.provider(isa) is Isa.DSP else 4 * columns),
            batch=batch,
            rows=rows,
            columns=columns,
            depth=depth,
            lhs_offset=-self.lhs_zero_point,
            rhs_offset=-self.rhs_zero_point,
            multiplier=self.requantize.multipliers[0],
            shift=self.requantize.shifts[0],
            values=OutputValues(**dict(self.requantize.arguments())),
        )
        return [KernelCall.of("batch_matmul", arguments, microkernel=MATMUL)]


@program_op(
    "cortex_m::quantized_batch_matmul.out(Tensor lhs, int lhs_zero_point, Tensor rhs_transposed, "
    "int rhs_zero_point, int output_zero_point, int output_multiplier, int output_shift, "
    "Tensor scratch, *, Tensor(a!) out) -> Tensor(a!)"
)
def read(call: Call) -> None:
    lhs = call.arrange(call.tensor("lhs", dtype=np.int8, rank=3), range(3))
    rhs = call.arrange(call.tensor("rhs_transposed", dtype=np.int8, rank=3), range(3))
    result = call.output("out")
    output = call.arranged_output(result, range(result.rank))
    (batch, rows, depth), columns = lhs.shape, rhs.shape[1]
    if rhs.shape != (batch, columns, depth):
        call.invalid(f"matrices of shapes {lhs.shape} and {rhs.shape}")
    check_output(call, output, (batch, rows, columns))
    try:
        requantize = Requantize.checked(
            [call.integer("output_multiplier")],
            [call.integer("output_shift")],
            1,
            zero_point=call.integer("output_zero_point"),
            minimum=-128,
            maximum=127,
        )
    except ValueError as error:
        call.unsupported(str(error))
    # The program's zero points are the negatives of the arithmetic's.
    zero_points = [-call.integer(f"{name}_zero_point", -127, 128) for name in ("lhs", "rhs")]
    op = BatchMatmul((batch, rows, columns, depth), zero_points[0], zero_points[1], requantize)
    call.emit(op, [lhs, rhs], [output])

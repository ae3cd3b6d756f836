"""Softmax of quantised numbers: cortex_m::softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.exponential import (
    exp_of_negative,
    multiply_high,
    reciprocal_of_one_plus,
)
from cmcompiler.ops.support.parameters import INT8, INT32_MAX, read_zero_point

SUM_BITS = 12
"""Integer bits of the sum of exponentials."""

LARGEST_SUM_BITS = 28
"""Bits of 512 in the sum's format: from there on no probability reaches half a step of 1/256."""

SUM_LIMIT_BITS = 31
"""From 2^31 on sums do not fit, those of 4096 equal elements."""

MOST_FINER_BITS = 7
LONGEST, BITS_OF_LONGER = 4095, 3
"""Rows with any finer bits, and the most of longer ones, whose sums may not fit."""

SOFTMAX = Microkernel("softmax_s8", mve=True)


@dataclass(frozen=True)
class SoftmaxArguments(Arguments):
    """Rows of int8 elements and the table of their exponentials."""

    c_name = "cm_softmax_s8"

    input: Place
    exponentials: Place
    output: Place
    rows: Int32
    length: Int32
    finer_bits: Int32


@dataclass(frozen=True)
class Softmax(Op):
    """exp(scale · (x - max)) / sum over the last dimension, from -128.

    Steps are 2^-(8 + finer_bits).

    Arithmetic: CMSIS-NN's arm_softmax_s8, but for rows whose sum of exponentials is 512 or more:
    it shifts by 32 there and gives a step too much; the result is 0.

    Attributes:
        multiplier, shift: scale of the differences in units of 2^-26.
        least: difference from the maximum below which the exponential counts as 0.
        finer_bits: of results that are less than 2^-finer_bits.
    """

    label = "softmax"
    element = np.dtype(np.int8)
    in_place = frozenset({0})

    multiplier: int
    shift: int
    least: int
    finer_bits: int = 0

    def exponentials(self) -> npt.NDArray[np.int32]:
        """Exponentials of the differences 0, -1, … -255 from the maximum, of 31 fractional bits."""
        table = np.zeros(256, np.int32)
        for distance in range(min(255, -self.least) + 1):
            scaled = multiply_high(-distance << self.shift, self.multiplier)
            table[distance] = exp_of_negative(scaled)
        return table

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = np.atleast_1d(inputs[0]).astype(np.int64)
        rows = rows.reshape(-1, rows.shape[-1])
        exponentials = self.exponentials().astype(np.int64)[rows.max(axis=1, keepdims=True) - rows]
        sums = ((exponentials + (1 << (SUM_BITS - 1))) >> SUM_BITS).sum(axis=1)
        output = np.full(rows.shape, INT8.minimum, np.int64)
        for row, total in enumerate(sums.tolist()):
            if total < 1 << min(LARGEST_SUM_BITS + self.finer_bits, SUM_LIMIT_BITS):
                headroom = 32 - total.bit_length()
                scale = reciprocal_of_one_plus((total << headroom) - (1 << 31))
                bits = SUM_BITS - headroom + 23 - self.finer_bits
                products = (scale * exponentials[row] + (1 << 30)) >> 31
                output[row] += (products + (1 << (bits - 1))) >> bits
        return (INT8.clamp(output).reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        length = (1, *outputs[0].shape)[-1]
        arguments = SoftmaxArguments(
            input=Address(inputs[0]),
            exponentials=Packed(self.exponentials().astype("<i4").tobytes()),
            output=Address(outputs[0]),
            rows=outputs[0].numel // length,
            length=length,
            finer_bits=self.finer_bits,
        )
        return [KernelCall.of("softmax_s8", arguments, microkernel=SOFTMAX)]


@program_op(
    "cortex_m::softmax.out(Tensor input, int dim, int input_zero_point, int output_zero_point, "
    "int input_multiplier, int input_shift, int diff_min, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out")
    if source.shape != output.shape or output.dtype != np.int8:
        call.invalid(f"{list(source.shape)} to {output.dtype.name}{list(output.shape)}")
    if read_zero_point(call, "output_zero_point") != INT8.minimum:
        call.unsupported("output_zero_point is not -128")
    rows, result = arrange_rows(call, source, output)
    call.emit(read_softmax(call), [rows], [result])


def read_softmax(call: Call, finer_bits: int = 0) -> Softmax:
    """As the arguments input_multiplier, input_shift and diff_min say."""
    shift = call.integer("input_shift", 0, 31)
    # Differences must keep within 32 bits when they are shifted.
    least = max(call.integer("diff_min", None, 0), -(INT32_MAX >> shift))
    return Softmax(call.integer("input_multiplier", 0, INT32_MAX), shift, least, finer_bits)


def arrange_rows(call: Call, source: Operand, output: Operand) -> tuple[Tensor, Tensor]:
    """Two tensors of one logical shape, with the dimension that the call names innermost.

    A tensor without dimensions stays one.
    """
    dim = call.dimension("dim", max(source.rank, 1))
    order = [axis for axis in output.dim_order if axis != dim]
    order += [dim] * (source.rank > 0)
    return call.arrange(source, order), call.arranged_output(output, order)

"""Variances, standard deviations and Euclidean lengths of int8 or int16 elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.norm import LONGEST
from cmcompiler.ops.support.parameters import (
    INT8,
    INT32_MAX,
    read_same_type,
    read_zero_point,
)
from cmcompiler.ops.support.requantize import Range, RangedOp, doubling_high_multiply
from cmcompiler.ops.support.square_root import inverse_square_root

MOMENTS = Microkernel("norm_s8", dsp=True, mve=True)

FARTHEST_SHIFT = 100

LONGEST_SHORT = 1 << 15
"""Elements of an int16 row whose n·Q is below 2^62."""


@dataclass(frozen=True)
class DeviationArguments(Arguments):
    """Rows of int8 or int16 elements, and what becomes of their variance."""

    c_name = "cm_deviation"

    input: Place
    output: Place
    rows: Int32
    length: Int32
    is_centred: Int32
    centre: Int32
    is_root: Int32
    multiplier: Int32
    shift: Int32
    zero_point: Int32


@dataclass(frozen=True)
class Deviation(RangedOp):
    """V · multiplier · 2^(shift - 31), or √V times that, of each row of n elements.

    V is n times their sum of squares less the square of their sum, or their sum of squares from a
    centre. docs/exactness.md has the steps.

    Attributes:
        length: elements of a row, n.
        centre: None for the row's mean.
        is_root: the result is of √V.
        range: of the type of elements and results.
    """

    label = "deviation"

    length: int
    centre: int | None
    is_root: bool
    multiplier: int
    shift: int
    zero_point: int
    shape: tuple[int, ...]
    range: Range = INT8

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = inputs[0].reshape(-1, self.length).astype(np.int64)
        total, squares = rows.sum(axis=1), (rows * rows).sum(axis=1)
        if self.centre is None:
            spread = self.length * squares - total * total
        else:
            spread = squares - 2 * self.centre * total + self.length * self.centre**2
        steps = np.array([self._steps(int(each)) for each in spread], np.int64)
        return (self.range.clamp(steps + self.zero_point).reshape(self.shape),)

    def _steps(self, spread: int) -> int:
        if spread == 0:
            return 0
        # 31 bits of it.
        exponent = spread.bit_length() - 31
        mantissa = spread >> exponent if exponent >= 0 else spread << -exponent
        if self.is_root:
            inverse, halved = inverse_square_root(spread)
            mantissa = _multiply(mantissa, inverse)
            exponent -= halved
        product, right = _multiply(mantissa, self.multiplier), -exponent - self.shift
        if right > 31 or product == 0:
            return 0
        if right <= 0:
            return self.range.maximum - self.range.minimum
        return (product + (1 << (right - 1))) >> right

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = DeviationArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            rows=inputs[0].numel // self.length,
            length=self.length,
            is_centred=int(self.centre is not None),
            centre=self.centre or 0,
            is_root=int(self.is_root),
            multiplier=self.multiplier,
            shift=self.shift,
            zero_point=self.zero_point,
        )
        if self.element == np.int16:
            return [KernelCall.of("deviation_s16", arguments)]
        return [KernelCall.of("deviation_s8", arguments, microkernel=MOMENTS)]


def _multiply(x: int, y: int) -> int:
    return int(doubling_high_multiply(np.array([x], np.int64), np.array([y], np.int64))[0])


@program_op(
    "cmbuild::quantized_deviation.out(Tensor input, int[] dims, bool keepdim, int? centre, "
    "bool is_root, int multiplier, int shift, int zero_point, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output, numbers = read_same_type(call)
    longest = LONGEST if source.dtype == np.int8 else LONGEST_SHORT
    dims = call.dimensions("dims", source.rank)
    kept = [dim for dim in range(source.rank) if dim not in dims]
    names = range(source.rank) if call.boolean("keepdim") else kept
    if output.shape != tuple(1 if dim in dims else source.shape[dim] for dim in names):
        call.invalid(f"{list(source.shape)} to {list(output.shape)} over {list(dims)}")
    length = prod(source.shape[dim] for dim in dims)
    if not 1 <= length <= longest:
        call.unsupported(f"rows of {length:,} elements, not 1 to {longest:,}")
    rows = call.arrange(source, [*kept, *dims])
    result = call.arranged_output(output, range(output.rank))
    op = Deviation(
        length,
        None if call.is_none("centre") else read_zero_point(call, "centre"),
        call.boolean("is_root"),
        call.integer("multiplier", 0, INT32_MAX),
        call.integer("shift", -FARTHEST_SHIFT, FARTHEST_SHIFT),
        read_zero_point(call, "zero_point"),
        result.shape,
        numbers,
    )
    call.emit(op, [rows], [result])

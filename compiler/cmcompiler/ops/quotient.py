"""Quotients of two quantised tensors, as TensorFlow Lite computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import ONE_ROUNDING, Array, KernelCall, Packed, Tensors
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.elementwise import Pair, PairArguments
from cmcompiler.ops.support.exponential import reciprocal_of_one_plus
from cmcompiler.ops.support.parameters import INT8, Rescale
from cmcompiler.ops.support.requantize import doubling_high_multiply, rounding_shift_right
from cmcompiler.ops.support.square_root import bit_lengths

QUOTIENT = Microkernel("quotient_s8")

MOST_STEPS = 255
"""Steps from an int8's zero point."""

LONGEST_LEFT_SHIFT = 23
"""The largest shift of the output's factor: dividends have as many bits of headroom."""


@dataclass(frozen=True)
class QuotientArguments(PairArguments):
    """Quotients of two int8 elements."""

    c_name = "cm_quotient_s8"

    reciprocals: Annotated[Place, "of 256 int32, see `reciprocals`"]
    dividend_zero_point: Int32
    divisor_zero_point: Int32
    zero_point: Int32
    multiplier: Int32
    shift: Int32
    swapped: Annotated[Int32, "whether the second operand is divided by the first"]


@dataclass(frozen=True)
class Quotient(Pair):
    """clamp(zero point + dividend / divisor · the output's factor).

    Arithmetic: TensorFlow Lite's DIV. The dividend, with all its headroom, is multiplied by the
    divisor's reciprocal and then by the factor, and shifted once. By 0, it is an end of int8.

    Attributes:
        swapped: the second operand is divided by the first.
        dividend, divisor: zero points.
    """

    label = "quotient"
    element = np.dtype(np.int8)

    swapped: bool
    dividend: int
    divisor: int
    output: Rescale

    error_steps = ONE_ROUNDING

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        operands = [x.astype(np.int64) for x in self.broadcast(inputs)]
        dividend, divisor = operands[::-1] if self.swapped else operands
        dividend, divisor = dividend - self.dividend, divisor - self.divisor
        dividend = np.where(divisor < 0, -dividend, dividend)
        steps = np.abs(divisor)
        headroom = 31 - bit_lengths(np.where(dividend < 0, ~dividend, dividend))
        product = doubling_high_multiply(dividend << headroom, reciprocals()[steps])
        product = doubling_high_multiply(product, self.output.multiplier)
        shift = bit_lengths(steps) - 1 + headroom - self.output.shift
        quotient = np.where(
            shift > 31, 0, rounding_shift_right(product, np.clip(shift, 0, 31))
        ).astype(np.int64)
        quotient = np.where(divisor == 0, np.sign(dividend) << 16, quotient)
        result = INT8.clamp(self.output.zero_point + quotient)
        return (result.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return self.call(
            QuotientArguments,
            (*inputs, *outputs),
            QUOTIENT,
            reciprocals=Packed(reciprocals().astype("<i4").tobytes(), 4),
            dividend_zero_point=self.dividend,
            divisor_zero_point=self.divisor,
            zero_point=self.output.zero_point,
            multiplier=self.output.multiplier,
            shift=self.output.shift,
            swapped=int(self.swapped),
        )


@cache
def reciprocals() -> npt.NDArray[np.int64]:
    """2^k / n of 31 fractional bits for n up to MOST_STEPS, k one less than n's bits; of 0: 0.

    Source: gemmlowp, one_over_one_plus_x_for_x_in_0_1: Newton's iteration.
    """
    values = [0]
    for n in range(1, MOST_STEPS + 1):
        fraction = (n << (32 - n.bit_length())) - (1 << 31)
        values.append(reciprocal_of_one_plus(fraction))
    return np.array(values, np.int64)

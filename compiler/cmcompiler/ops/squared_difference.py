"""Squares of the differences of two quantised tensors, as TensorFlow Lite computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import ONE_ROUNDING, Array, KernelCall, Packed, Tensors
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.elementwise import Pair, PairArguments, scale_words
from cmcompiler.ops.support.parameters import INT8, Rescale
from cmcompiler.ops.support.requantize import Range, RangedOp

LEFT_SHIFT = 7
"""Headroom that TensorFlow Lite gives int8 operands: squares of differences then fit 30 bits."""

SQUARED_DIFFERENCE = Microkernel("squared_difference_s8")
SQUARED_DIFFERENCE16 = Microkernel("squared_difference_s16")


@dataclass(frozen=True)
class SquaredDifferenceArguments(PairArguments):
    """Squared differences of two int8 elements, each rescaled by a table."""

    c_name = "cm_squared_difference_s8"

    lhs_table: Annotated[Place, "of 256 int16, by the unsigned byte"]
    rhs_table: Place
    zero_point: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class SquaredDifferenceArguments16(PairArguments):
    """Squared differences of two int16 elements, each rescaled by 0.5 at most."""

    c_name = "cm_squared_difference_s16"

    lhs_multiplier: Int32
    lhs_shift: Int32
    rhs_multiplier: Int32
    rhs_shift: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class SquaredDifference(RangedOp, Pair):
    """clamp(output.apply((scaled lhs - scaled rhs)²)).

    Arithmetic: TensorFlow Lite's SQUARED_DIFFERENCE, with int8 operands widened by LEFT_SHIFT
    before they are rescaled, to halves at most.
    """

    label = "squared difference"

    lhs: Rescale
    rhs: Rescale
    output: Rescale
    range: Range = INT8

    error_steps = ONE_ROUNDING

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = self.broadcast(inputs)
        difference = self._scaled(self.lhs, lhs) - self._scaled(self.rhs, rhs)
        square = self.range.clamp(self.output.apply(difference * difference))
        return (square.reshape(self.shape),)

    def _scaled(self, scale: Rescale, x: Array) -> npt.NDArray[np.int32]:
        return scale.scale(x.astype(np.int32)) if self.element == np.int16 else _widened(scale, x)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if self.element == np.int16:
            return self.call(
                SquaredDifferenceArguments16,
                (*inputs, *outputs),
                SQUARED_DIFFERENCE16,
                joins=False,
                **scale_words(self.lhs, self.rhs, self.output, "multiplier", "shift"),
            )
        lhs, rhs = (Packed(_table(scale), 2) for scale in (self.lhs, self.rhs))
        return self.call(
            SquaredDifferenceArguments,
            (*inputs, *outputs),
            SQUARED_DIFFERENCE,
            lhs_table=lhs,
            rhs_table=rhs,
            zero_point=self.output.zero_point,
            multiplier=self.output.multiplier,
            shift=self.output.shift,
        )


def _table(scale: Rescale) -> bytes:
    """The result for each int8 number, by its byte."""
    return _widened(scale, np.arange(256).astype(np.int8)).astype("<i2").tobytes()


def _widened(scale: Rescale, x: Array) -> npt.NDArray[np.int32]:
    return scale.scale((x.astype(np.int32) - scale.zero_point) << LEFT_SHIFT)

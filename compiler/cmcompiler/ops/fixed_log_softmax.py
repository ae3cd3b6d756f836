"""Logarithms of softmax in fixed point: the LOG_SOFTMAX of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.exponential import INT32_MIN, exp_of_negative, shift_right
from cmcompiler.ops.support.logarithm import high, logarithm
from cmcompiler.ops.support.parameters import INT8

LONGEST = 4095
"""Sums of longer rows may not fit."""

SUM_BITS = 12
"""Integer bits of the sum of exponentials."""

_STEP_BITS = 22
"""A step of the output, 1/16, has 26 fractional bits here."""


@dataclass(frozen=True)
class FixedLogSoftmaxArguments(Arguments):
    """Rows of int8 elements and the table of their exponentials, of 19 fractional bits."""

    c_name = "cm_fixed_log_softmax_s8"

    input: Place
    exponentials: Place
    output: Place
    rows: Int32
    length: Int32
    multiplier: Int32
    shift: Int32
    least: Int32
    reverse_multiplier: Int32
    reverse_shift: Int32


@dataclass(frozen=True)
class FixedLogSoftmax(Op):
    """scale · (x - max) - log(sum of exponentials) over the last dimension, from 127 down by 1/16.

    Arithmetic: LogSoftmaxQuantized of TensorFlow Lite Micro.

    Attributes:
        multiplier, shift: scale of the differences in units of 2^-26.
        least: difference from the maximum below which the exponential counts as 0.
        reverse_multiplier, reverse_shift: from units of 2^-26 to differences.
    """

    label = "log_softmax"
    element = np.dtype(np.int8)
    in_place = frozenset({0})

    multiplier: int
    shift: int
    least: int
    reverse_multiplier: int
    reverse_shift: int

    def scaled(self, distance: int) -> int:
        """A distance from the maximum, negated, in units of 2^-26."""
        return high(-distance << self.shift, self.multiplier)

    def exponentials(self) -> npt.NDArray[np.int32]:
        """The exponentials of differences 0, -1, … -255 from the maximum."""
        table = np.zeros(256, np.int32)
        for distance in range(min(255, -self.least) + 1):
            table[distance] = shift_right(exp_of_negative(self.scaled(distance)), SUM_BITS)
        return table

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = np.atleast_1d(inputs[0]).astype(np.int64)
        rows = rows.reshape(-1, rows.shape[-1])
        distances = rows.max(axis=1, keepdims=True) - rows
        sums = self.exponentials().astype(np.int64)[distances].sum(axis=1)
        output = np.full(rows.shape, INT8.minimum, np.int64)
        for row, total in enumerate(sums.tolist()):
            part = logarithm(total)
            least = shift_right_by(high(part + INT32_MIN, self.reverse_multiplier), self)
            for place, distance in enumerate(distances[row].tolist()):
                if -distance > max(self.least - 1, least):
                    steps = shift_right(self.scaled(distance) - part, _STEP_BITS)
                    output[row, place] = INT8.maximum + steps
        return (INT8.clamp(output).reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        length = (1, *outputs[0].shape)[-1]
        arguments = FixedLogSoftmaxArguments(
            input=Address(inputs[0]),
            exponentials=Packed(self.exponentials().astype("<i4").tobytes()),
            output=Address(outputs[0]),
            rows=outputs[0].numel // length,
            length=length,
            multiplier=self.multiplier,
            shift=self.shift,
            least=self.least,
            reverse_multiplier=self.reverse_multiplier,
            reverse_shift=self.reverse_shift,
        )
        return [KernelCall.of("fixed_log_softmax_s8", arguments)]


def shift_right_by(x: int, op: FixedLogSoftmax) -> int:
    """Rounded, by the op's shift back to differences."""
    return shift_right(x, op.reverse_shift) if op.reverse_shift else x

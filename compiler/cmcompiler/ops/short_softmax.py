"""Softmax whose results are int16, of int16 or int8 numbers, by TensorFlow Lite's two tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Tensors
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.requantize import requantize

STEPS = 512
"""Steps of a table; an entry more ends it."""

LONGEST = 1 << 16
"""A row whose sum of exponentials fits 32 bits."""

Numbers = npt.NDArray[np.int64]


def interpolation_table(
    function: Callable[[Any], float], low: Any, high: Any, scale: float
) -> tuple[int, ...]:
    """513 entries of a function between two arguments, in steps of 1 / scale.

    Each is less half of what interpolation errs by in the middle before the next one. Computed in
    the precision of `low`.
    """
    step = (high - low) / STEPS
    entries = []
    for index in range(STEPS):
        start, middle, end = (function(low + (index + part) * step) for part in (0, 0.5, 1))
        value = _rounded(start * scale)
        between = _rounded((end * scale + value) / 2)
        bias = _rounded((between - _rounded(middle * scale)) / 2)
        entries.append(value - bias)
    entries.append(_rounded(function(high) * scale))
    limits = np.iinfo(np.int16)
    return tuple(int(min(max(entry, limits.min), limits.max)) for entry in entries)


def _rounded(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


def interpolated(table: Sequence[int], x: Numbers) -> Numbers:
    """The function of int16 numbers whose 512 intervals the table has."""
    entries = np.array(table, np.int64)
    places = (x >> 7) + STEPS // 2
    base, following = entries[places], entries[places + 1]
    result: Numbers = base + (((following - base) * (x & 127) + 64) >> 7)
    return result


REACH = 10
"""The largest exponent of TensorFlow Lite's table: e^-10 stands for all that is smaller."""

LONG_REACH = 16
"""The largest exponent where smaller ones are 0: a row of 65,536 would hardly be a step."""


@cache
def exponentials(reach: int) -> tuple[int, ...]:
    """exp on [-reach, 0], of 15 fractional bits."""
    return interpolation_table(math.exp, -float(reach), 0.0, 32768.0)


@cache
def reciprocals() -> tuple[int, ...]:
    """1 / (1 + x) on [0, 1], of 15 fractional bits."""
    # TFLite computes the table in float32: two entries lie within its rounding of a half.
    return interpolation_table(lambda x: 1 / (1 + x), np.float32(0), np.float32(1), 32768.0)


@dataclass(frozen=True)
class ShortSoftmaxArguments(Arguments):
    """Rows of elements, and the tables of exponentials and of reciprocals."""

    c_name = "cm_short_softmax"

    input: Place
    output: Place
    exponentials: Place
    reciprocals: Place
    rows: Int32
    length: Int32
    size: Int32
    multiplier: Int32
    shift: Int32
    is_cut: Annotated[Int32, "smaller exponentials than those of the table are 0"]


@dataclass(frozen=True)
class ShortSoftmax(Op):
    """exp(x - max) / sum over the last dimension, of 15 fractional bits.

    Arithmetic: CMSIS-NN's arm_softmax_s16 and arm_softmax_s8_s16, with a reach of 10.

    Attributes:
        multiplier, shift: make differences of x steps of reach/65,535.
        length: of a row.
        reach: REACH or LONG_REACH.
    """

    label = "softmax"
    element = np.dtype(np.int16)

    multiplier: int
    shift: int
    length: int
    reach: int = REACH

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        """Tables are off by up to 7 steps; each exponential of a sum is rounded to one."""
        return 8.0 + self.length / 2

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = inputs[0].astype(np.int64).reshape(-1, inputs[0].shape[-1])
        distances = rows - rows.max(axis=1, keepdims=True)
        scaled = requantize(distances, self.multiplier, self.shift).astype(np.int64)
        places = np.clip(scaled + 32767, -(1 << 15), (1 << 15) - 1)
        powers = interpolated(exponentials(self.reach), places)
        if self.reach == LONG_REACH:
            powers = np.where(scaled + 32767 < -(1 << 15), 0, powers)
        output = np.zeros(rows.shape, np.int64)
        for row, total in enumerate(powers.sum(axis=1).tolist()):
            headroom = 32 - total.bit_length()
            shifted = ((total << (headroom - 1)) + (1 << 13)) >> 14
            place = np.clip(shifted - (1 << 15) - (1 << 16), -(1 << 15), (1 << 15) - 1)
            inverse = interpolated(reciprocals(), np.array(place))
            right = 31 - headroom
            output[row] = (powers[row] * inverse + (1 << (right - 1))) >> right
        return (np.clip(output, 0, 32767).astype(np.int16).reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return [KernelCall.of("short_softmax", self.arguments(inputs[0], outputs[0]))]

    def arguments(self, source: Tensor, output: Tensor) -> ShortSoftmaxArguments:
        length = output.shape[-1]
        return ShortSoftmaxArguments(
            Address(source),
            Address(output),
            exponentials=_packed(exponentials(self.reach)),
            reciprocals=_packed(reciprocals()),
            rows=output.numel // length,
            length=length,
            size=source.dtype.itemsize,
            multiplier=self.multiplier,
            shift=self.shift,
            is_cut=int(self.reach == LONG_REACH),
        )


def _packed(table: Sequence[int]) -> Packed:
    return Packed(np.array(table, "<i2").tobytes())

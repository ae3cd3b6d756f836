"""Gates of recurrent layers: int16 sums of int8 products, sigmoid and tanh by table.

Arithmetic: CMSIS-NN's arm_nn_vec_mat_mul_result_acc_s8_s16 and arm_nn_activation_s16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.op import Packed
from cmcompiler.isa import Isa
from cmcompiler.ops.support import nibbles, packing
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import (
    Int8Array,
    Int32Array,
    Range,
    Requantize,
    requantize,
    wrap32,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Int16Array = npt.NDArray[np.int16]
WideArray = npt.NDArray[np.int64]

GATE_BITS = 12
"""Fractional bits of a gate before its activation."""

INT16_MAX = (1 << 15) - 1

UNIT_BITS = 15
"""Fractional bits of sigmoid and tanh."""

STEPS_PER_UNIT = 24
"""Entries of the table for each unit of sigmoid's argument."""

SIGMOID_BITS, TANH_BITS = 9, 8
"""Steps of three times the argument that lie between two entries of the table."""

FARTHEST_TANH = 255 * 256 // 3
"""From here on tanh takes the table's last entry."""

LAST_ENTRY = 3 * INT16_MAX >> SIGMOID_BITS
"""The entry of the largest gate's sigmoid, and of tanh just below 4."""

MOST_BEYOND = 10
"""Steps from sigmoid of the largest gate to the largest result."""


def clamp16(x: npt.NDArray[np.integer[Any]]) -> Int16Array:
    return np.clip(x, -(1 << 15), (1 << 15) - 1).astype(np.int16)


@cache
def table(beyond: int = 0) -> tuple[tuple[int, int], ...]:
    """sigmoid(i / 24) - 1/2 of 16 fractional bits, and the step to the next entry.

    Half of the largest distance between curve and chord is added to each entry, so that
    interpolation errs equally to both sides.

    Args:
        beyond: what is added to sigmoid of the largest gate, in steps of 15 fractional bits. Gates
            stop there, so that a forget gate would lose the difference in each step.
    """
    entries = []
    for i in range(255):
        y = 1 / (1 + math.exp(-i / STEPS_PER_UNIT))
        curvature = y * (1 - y) * (1 - 2 * y) / STEPS_PER_UNIT**2
        entries.append(round(65536 * (y - curvature / 16)) - 32768)
    entries.append(32767)
    steps = [after - entry for entry, after in pairwise(entries)]
    fraction = 3 * INT16_MAX & ((1 << SIGMOID_BITS) - 1)
    steps[LAST_ENTRY] += (beyond << (SIGMOID_BITS + 1)) // fraction
    return tuple(zip(entries, [*steps, 0], strict=True))


@cache
def _array(beyond: int) -> WideArray:
    return np.array(table(beyond), np.int64)


def packed_table(beyond: int = 0) -> Packed:
    """The table as kernels read it: pairs of uint16."""
    return Packed(np.array(table(beyond), "<u2").tobytes())


def sigmoid(x: Int16Array, beyond: int = 0) -> WideArray:
    """Sigmoid of x with 12 fractional bits: 1 to 32767, of 15 fractional bits."""
    base, fraction, slope = _look_up(3 * np.abs(x.astype(np.int64)), SIGMOID_BITS, beyond)
    distance = ((base << SIGMOID_BITS) + fraction * slope + (1 << SIGMOID_BITS)) >> 10
    return (1 << 14) + np.where(x < 0, -distance, distance)


def tanh(x: Int16Array, bits: int = GATE_BITS, beyond: int = 0) -> WideArray:
    """Tanh of x with any fractional bits: -32767 to 32767, of 15 fractional bits."""
    if bits > GATE_BITS:
        right = bits - GATE_BITS
        steps = (3 * x.astype(np.int64) + (1 << (right - 1))) >> right
    else:
        left = x.astype(np.int64) << (GATE_BITS - bits)
        steps = 3 * np.clip(left, -FARTHEST_TANH, FARTHEST_TANH)
    base, fraction, slope = _look_up(np.abs(steps), TANH_BITS, beyond)
    result = base + ((fraction * slope + (1 << (TANH_BITS - 1))) >> TANH_BITS)
    return np.where(steps < 0, -result, result)


def _look_up(steps: WideArray, bits: int, beyond: int) -> tuple[WideArray, WideArray, WideArray]:
    """Entry, distance from it, and step to the next one, of three times an argument."""
    entries = _array(beyond)[steps >> bits]
    return entries[..., 0], steps & ((1 << bits) - 1), entries[..., 1]


@dataclass(frozen=True, eq=False)
class GateProduct:
    """Rows of int8 numbers times constant int8 weights, added to int16 gates.

    Attributes:
        weights: int8 [gates, depth].
        bias: int32 [gates], to be added to the sum of weight * raw input: the input's zero point
            is folded in.
        multipliers, shifts: of each gate.
    """

    weights: Int8Array
    bias: Int32Array
    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]

    @property
    def depth(self) -> int:
        return int(self.weights.shape[1])

    def add(self, gates: Int16Array, rows: Int8Array) -> Int16Array:
        """Gates [rows, gates] and the products of rows [rows, depth], saturated."""
        # Exact: sums of products of int8 numbers are far below 2^53.
        sums = (rows.astype(np.float64) @ self.weights.T.astype(np.float64)).astype(np.int64)
        sums = wrap32(sums + self.bias).astype(np.int64)
        scaled = requantize(sums, np.array(self.multipliers), np.array(self.shifts))
        return clamp16(gates.astype(np.int64) + scaled)

    def reordered(self, order: npt.NDArray[np.integer[Any]]) -> Self:
        """The gates of these numbers."""
        return replace(
            self,
            weights=self.weights[order],
            bias=self.bias[order],
            multipliers=tuple(self.multipliers[i] for i in order),
            shifts=tuple(self.shifts[i] for i in order),
        )

    @property
    def bank(self) -> Filters:
        """The gates' filters, of four bits if all weights fit."""
        requantize = Requantize(self.multipliers, self.shifts, 0, Range(-128, 127))
        filters = Filters.of(self.weights, self.bias, requantize, is_int8=False)
        return replace(filters, is_narrow=nibbles.suits(filters.weights))

    def packed(self, isa: Isa, *, narrow: bool = False) -> PackedProduct:
        """
        Args:
            narrow: for the microkernel that takes weights of four bits.
        """
        filters = self.bank
        order = packing.narrow_gemv16_weights if narrow else packing.gemv16_weights
        return PackedProduct(Packed(order(filters, isa)), self.depth, filters.rounding)


@dataclass(frozen=True)
class PackedProduct(Struct):
    """Constant weights of rows that are added to gates."""

    c_name = "cm_gate_product"

    weights: Place
    depth: Int32
    rounding: Int32


@dataclass(frozen=True)
class Narrowing(Struct):
    """From a wide number to int8: clamp(x · multiplier · 2^(shift - 31) + zero_point)."""

    c_name = "cm_narrowing"

    multiplier: Int32
    shift: Int32
    zero_point: Int32

    def __call__(self, x: npt.NDArray[np.integer[Any]]) -> Int8Array:
        scaled = requantize(x, self.multiplier, self.shift).astype(np.int64)
        return np.clip(scaled + self.zero_point, -128, 127).astype(np.int8)

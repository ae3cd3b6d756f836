"""Sigmoid and hyperbolic tangent of int16 numbers, by TensorFlow Lite's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.ir.layout import Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.gates import packed_table, table

LAST = 255
"""The table's last entry, which all larger arguments take."""

HALF = 1 << 15
"""One half with 16 fractional bits, the sigmoid of 0."""


@dataclass(frozen=True)
class ShortCurveArguments(Arguments):
    """int16 elements and the table of half a sigmoid."""

    c_name = "cm_short_curve"

    input: Place
    output: Place
    table: Place
    count: Settled
    multiplier: Annotated[Int32, "makes steps of a 24th of 512ths"]
    shift: Annotated[Int32, "to the right, of the product"]
    is_tanh: Int32


@dataclass(frozen=True)
class ShortCurve(Op):
    """sigmoid or tanh with 15 fractional bits of x · multiplier / 2^shift, three times 12 bits.

    Arithmetic: the reference kernels of TensorFlow Lite for int16.
    """

    label = "sigmoid"
    element = np.dtype(np.int16)
    in_place = frozenset({0})
    error_steps = fine_error_steps = 4.0
    """Error that interpolation adds to one rounding."""

    multiplier: int
    shift: int
    is_tanh: bool

    @property
    def title(self) -> str:
        return "tanh" if self.is_tanh else "sigmoid"

    @property
    def turned(self) -> ShortCurve:
        return self

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rounding = (1 << self.shift) >> 1
        x = (inputs[0].astype(np.int64) * self.multiplier + rounding) >> self.shift
        bits = 8 if self.is_tanh else 9
        entries = np.array(table(), np.int64)
        places = np.abs(x) >> bits
        base, step = np.moveaxis(entries[np.minimum(places, LAST)], -1, 0)
        fraction = np.abs(x) & ((1 << bits) - 1)
        value = ((base + HALF) << bits) + fraction * step
        if self.is_tanh:
            value = np.where(places >= LAST, 0xFFFF << 8, value) - (1 << 23)
            result = np.where(x >= 0, value + (1 << 7), -value + (1 << 7) - 1) >> 8
        else:
            value = np.where(places >= LAST, 0x7FFF << 10, value)
            value = np.where(x >= 0, value, (1 << 25) - value - 1) + (1 << 9)
            result = value >> 10
        return (result.astype(np.int16),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = ShortCurveArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            table=packed_table(),
            count=outputs[0].numel,
            multiplier=self.multiplier,
            shift=self.shift,
            is_tanh=int(self.is_tanh),
        )
        return [KernelCall.of("short_curve", arguments)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])

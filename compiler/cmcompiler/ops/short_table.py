"""Any function of int16 numbers, by TensorFlow Lite's table of every 128th one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.ir.layout import Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa

STEP_BITS = 7
"""Numbers from one entry to the next, as bits."""

ENTRIES = (1 << 16 - STEP_BITS) + 1
"""Entries for the numbers from -32,768 to 32,768."""


@dataclass(frozen=True)
class ShortTableArguments(Arguments):
    """int16 elements, and the entries of a function of them."""

    c_name = "cm_short_table"

    input: Place
    output: Place
    table: Place
    count: Settled


@dataclass(frozen=True, eq=False)
class ShortTable(Op):
    """The function between the entries beside a number, halves up.

    Arithmetic: TensorFlow Lite's LUTLookup of int16.

    Attributes:
        table: ENTRIES results, from that of the least number on.
        name: for people.
    """

    label = "function"
    element = np.dtype(np.int16)
    in_place = frozenset({0})

    table: tuple[int, ...]
    name: str

    @property
    def title(self) -> str:
        return self.name

    @property
    def turned(self) -> ShortTable:
        return self

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x, entries = inputs[0].astype(np.int64), np.array(self.table, np.int64)
        places = (x >> STEP_BITS) + ENTRIES // 2
        rest, half = x & ((1 << STEP_BITS) - 1), 1 << STEP_BITS - 1
        slopes = entries[places + 1] - entries[places]
        result = entries[places] + (slopes * rest + half >> STEP_BITS)
        return (result.astype(np.int16),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = ShortTableArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            table=Packed(np.array(self.table, "<i2").tobytes()),
            count=outputs[0].numel,
        )
        return [KernelCall.of("short_table", arguments)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])

"""Any function of int16 numbers, by a table whose steps double with each power of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.layout import Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa

BITS = 6
"""Bits of a place between two powers of two, which have 64 entries between them."""

_END = (1 << 15) - 1
"""Magnitude of results that stop there."""

OCTAVES = 15 - BITS
"""Powers of two whose entries are more than one number apart."""

ENTRIES = (1 << BITS) * (OCTAVES + 1) + 1
"""Entries of each sign, for the magnitudes from 0 to 32,768."""


def magnitudes() -> npt.NDArray[np.int64]:
    """Magnitudes that have entries: all up to 64, every second up to 128, and so on."""
    fine = np.arange(1 << BITS)
    octaves = [((1 << BITS) + fine) << octave for octave in range(OCTAVES)]
    return np.concatenate([fine, *octaves, [1 << 15]])


@dataclass(frozen=True)
class InterpolationArguments(Arguments):
    """int16 elements, and entries of magnitudes: of positive numbers, then of negative ones."""

    c_name = "cm_interpolation"

    input: Place
    output: Place
    table: Place
    count: Settled
    entries: Int32


@dataclass(frozen=True, eq=False)
class Interpolation(Op):
    """The function between the entries beside a number's magnitude, halves up.

    Attributes:
        table: results of magnitudes(), then of their negatives.
    """

    label = "function"
    element = np.dtype(np.int16)
    in_place = frozenset({0})

    table: tuple[int, ...]

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        """One rounding of entries, one of the result, and what a bend between two entries adds.

        A function that has left the range at two entries may do so anywhere on the way to the next.
        """
        halves = np.array(self.table, np.int64).reshape(2, -1)
        bends = np.abs(np.diff(halves, 2, axis=1)) / 4
        is_end = np.abs(halves) >= _END
        beyond = np.pad(is_end[:, 1:] & is_end[:, :-1], ((0, 0), (1, 1)))
        leaving = np.abs(np.diff(halves, axis=1)) * (beyond[:, 2:] | beyond[:, :-2])
        return 1.1 + max(float(bends.max()), float(leaving.max()))

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    @property
    def turned(self) -> Interpolation:
        return self

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = inputs[0].astype(np.int64)
        sizes = np.abs(x)
        octave = np.maximum(np.frexp(np.maximum(sizes, 1))[1] - 1 - BITS, 0)
        is_fine = sizes < 1 << BITS
        within = (sizes >> octave) & ((1 << BITS) - 1)
        places = np.where(is_fine, sizes, ((octave + 1) << BITS) + within)
        rest = sizes & ((1 << octave) - 1)
        entries = np.array(self.table, np.int64)
        signs = np.where(x < 0, ENTRIES, 0)
        following = np.minimum(places + 1, ENTRIES - 1)
        base, after = entries[signs + places], entries[signs + following]
        half = (1 << octave) >> 1
        return ((base + (((after - base) * rest + half) >> octave)).astype(np.int16),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = InterpolationArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            table=Packed(np.array(self.table, "<i2").tobytes()),
            count=outputs[0].numel,
            entries=ENTRIES,
        )
        return [KernelCall.of("interpolation", arguments)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])

"""Rows along which each element of the output depends on all of the input up to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.movement.loops import Loops, Nest, Strided
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.words import Address


@dataclass(frozen=True)
class RunningRows(Struct):
    """Rows of the input and of the output, and the loops over them."""

    input: Place
    output: Place
    rows: Annotated[Nest, INLINE]
    count: Int32
    input_step: Annotated[Int32, "in elements"]
    output_step: Int32

    @classmethod
    def of(cls, source: Tensor, reads: Strided, output: Tensor, writes: Strided) -> RunningRows:
        """Windows on two tensors, whose last dimension is along the rows."""
        last = len(reads.shape) - 1
        rows = Loops.over(reads.select(last, 0), writes.select(last, 0))
        return cls(
            Address(source),
            Address(output),
            rows.nest((source.dtype.itemsize, output.dtype.itemsize)),
            count=reads.shape[-1],
            input_step=reads.strides[-1],
            output_step=writes.strides[-1],
        )

"""Sums over rows of an image that come one after the other: struct cm_row_sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.op import KernelCall, Reach, RowCall, Scratch
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.arguments import ImageRows

ADD_ROWS = Microkernel("add_rows_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class RowSums(Struct):
    """Sums of each channel over some rows of an image, and over some columns of them."""

    c_name = "cm_row_sums"

    input: ImageRows
    sums: Annotated[Place, "int32 of each channel, kept from call to call"]
    first_row: Int32
    rows: Int32
    first_column: Int32
    columns: Annotated[Int32, "pixels of each row from the first column on"]

    @classmethod
    def of(cls, image: Tensor, rows: range, columns: range) -> RowSums:
        sums = Scratch(4 * image.shape[3], kept=True)
        ends = (rows.start, len(rows), columns.start, len(columns))
        return cls(ImageRows.of(image), sums, *ends)


@dataclass(frozen=True)
class RowSumsArguments(Arguments):
    """The fields that kernels of such sums begin with."""

    total: RowSums

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        members = self.total.rows * self.total.columns
        return Work(macs, filled(outputs, lanes) * members, outputs, calls, pixels=1)


def accumulate(
    kernel: str, image: Tensor, arguments: RowSumsArguments, family: str = ""
) -> RowCall:
    """A call that adds up each channel of an image.

    Args:
        family: of kernels whose work costs the same.
    """
    total, words = arguments.total, arguments.words()
    call = KernelCall(kernel, words, (0, total.rows), ADD_ROWS, type(arguments), family)
    return RowCall(call, {image: Reach(1, total.first_row, total.first_row)}, step=0)

"""Sums over rows of an image that come one after the other: struct cm_row_sums."""

from __future__ import annotations

from dataclasses import dataclass

from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.op import KernelCall, Reach, RowCall, Scratch, Words
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.arguments import ImageRows

ADD_ROWS = Microkernel("add_rows_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class RowSums(Struct):
    """Sums of each channel over some rows and columns of an image."""

    c_name = "cm_row_sums"

    input: ImageRows
    sums: Place
    first_row: Int32
    rows: Int32
    first_column: Int32
    columns: Int32


@dataclass(frozen=True)
class RowSumsArguments(Arguments):
    """The fields that kernels of such sums begin with."""

    c_name = "cm_row_sums_head"

    total: RowSums

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        members = self.total.rows * self.total.columns
        return Work(macs, filled(outputs, lanes) * members, outputs, calls, pixels=1)


def accumulate(
    kernel: str, image: Tensor, members: tuple[range, range], arguments: Words, family: str = ""
) -> RowCall:
    """A call that adds up each channel.

    Args:
        members: rows and columns of the image that the sums are over.
        arguments: of the kernel, after the sums.
        family: of kernels whose work costs the same.
    """
    rows, columns = members
    total = RowSums(
        ImageRows.of(image),
        sums=Scratch(4 * image.shape[3], kept=True),
        first_row=rows.start,
        rows=len(rows),
        first_column=columns.start,
        columns=len(columns),
    )
    words = [*RowSumsArguments(total).words(), *arguments]
    call = KernelCall(kernel, words, (0, len(rows)), ADD_ROWS, RowSumsArguments, family)
    return RowCall(call, {image: Reach(1, rows.start, rows.start)}, step=0)

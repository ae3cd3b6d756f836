"""Sums over rows of an image that come one after the other: struct cm_row_sums."""

from __future__ import annotations

from cmcompiler.ir.op import KernelCall, Reach, RowCall, Scratch, Words
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.window import rows_arguments

ADD_ROWS = Microkernel("add_rows_s8", dsp=True, mve=True)


def accumulate(
    kernel: str, image: Tensor, rows: range, columns: range, arguments: Words
) -> RowCall:
    """A call that adds up each channel.

    Args:
        rows, columns: of the image, that the sums are over.
        arguments: of the kernel, after the sums.
    """
    words: Words = [
        *rows_arguments(**{"total.input": image}),
        ("total.sums", Scratch(4 * image.shape[3], kept=True)),
        ("total.first_row", rows.start),
        ("total.rows", len(rows)),
        ("total.first_column", columns.start),
        ("total.columns", len(columns)),
        *arguments,
    ]
    call = KernelCall(kernel, words, (0, len(rows)), ADD_ROWS)
    return RowCall(call, {image: Reach(1, rows.start, rows.start)}, step=0)

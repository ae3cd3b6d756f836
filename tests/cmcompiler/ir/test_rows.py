"""Rows that are taken and made: reaches, and calls for one row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.ir.op import Address, KernelCall, Reach, RowAddress, RowCount
from cmcompiler.ir.rows import element_rows, image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.support.window import Window


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 4), st.integers(1, 3))
def test_a_window_takes_the_rows_of_its_taps(
    kernel: int, stride: int, padding: int, dilation: int
) -> None:
    reach = Window((kernel, 1), (stride, 1), (padding, 0), (dilation, 1)).rows
    for row in range(6):
        taps = [row * stride - padding + tap * dilation for tap in range(kernel)]
        assert (reach.first(row), reach.end(row + 1)) == (min(taps), max(taps) + 1)


def test_rows_of_a_smaller_image_are_taken_more_than_once() -> None:
    double = Reach(divisor=2)
    assert [double.first(row) for row in range(4)] == [0, 0, 1, 1]
    assert [double.end(end) for end in range(1, 5)] == [1, 1, 2, 2]


def test_a_call_for_all_elements_becomes_one_for_a_row() -> None:
    image, output = (Tensor(name, np.dtype(np.int8), (1, 4, 3, 2)) for name in "xy")
    table = Tensor("table", np.dtype(np.int8), (256,))
    words = [
        ("x", Address(image)),
        ("table", Address(table)),
        ("y", Address(output)),
        ("count", 24),
    ]
    (row,) = element_rows(KernelCall("f", words), image, output)
    assert dict(row.call.arguments) == {
        "x": RowAddress(image),
        "table": Address(table),
        "y": RowAddress(output),
        "count": RowCount(6),
    }
    assert row.call.rows == (0, 4) and row.reads == {image: Reach()}
    assert (image_rows(image), image_rows(table), row_bytes(image)) == (4, None, 6)

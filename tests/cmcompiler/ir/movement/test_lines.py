"""Copies as copies from row to row, where each row of the output takes parts of one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.ir.movement.lines import piece_rows
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Reach
from cmcompiler.ir.tensor import Tensor

INT8 = np.dtype(np.int8)


def image(*shape: int) -> Tensor:
    return Tensor("image", INT8, (1, *shape))


@given(st.integers(0, 3), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2))
def test_a_row_takes_the_row_that_lies_in_its_window(
    start: int, step: int, count: int, margin: int
) -> None:
    source, output = image(start + count * step, 5, 2), image(margin + count + 1, 4, 3)
    reads = Strided.dense(source.shape).slice(1, start, count, step).slice(2, 1, 3)
    writes = Strided.dense(output.shape).slice(1, margin, count).slice(2, 1, 3).slice(3, 1, 2)
    lines = piece_rows(reads, source, writes, output)
    assert lines is not None and lines.first == margin
    (reach,) = lines.taken(source).values()
    rows = range(lines.first, lines.first + lines.count)
    assert [reach.first(row) for row in rows] == [start + i * step for i in range(count)]
    assert all(reach.end(row + 1) == reach.first(row) + 1 for row in rows)
    assert (lines.reads.offset, lines.writes.offset) == (2, 4)


def test_repeated_rows_take_the_same_one() -> None:
    source, output = image(4, 3, 2), image(12, 3, 2)
    reads = Strided.dense(source.shape).insert(2, 3)
    writes = Strided.dense(output.shape).split(1, 3)
    lines = piece_rows(reads, source, writes, output)
    assert lines is not None and lines.taken(source) == {source: Reach(divisor=3)}


def test_what_crosses_rows_is_not_copied_row_by_row() -> None:
    source = image(4, 4, 4)
    dense = Strided.dense(source.shape)
    for reads in (dense.permute((0, 2, 1, 3)), dense.flip(1)):
        assert piece_rows(reads, source, dense, image(4, 4, 4)) is None
    assert piece_rows(dense, source, dense, source) is None

"""How many kernel calls make the rows of a turn."""

from __future__ import annotations

import numpy as np

from cmcompiler.ir.op import Address, KernelCall, RowCall
from cmcompiler.ir.rows import SAME, element_rows, one_row
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.streams.group import StreamStage

IMAGE, OUTPUT = (Tensor(name, np.dtype(np.int8), (1, 20, 3, 2)) for name in "xy")
CALL = KernelCall("f", [("x", Address(IMAGE)), ("y", Address(OUTPUT)), ("count", IMAGE.numel)])


def test_rows_that_follow_each_other_in_all_rings_are_one_call() -> None:
    (row,) = element_rows(CALL, IMAGE, OUTPUT)
    stage = StreamStage(0, row, row, OUTPUT, ())
    rings = {IMAGE: 5, OUTPUT: 20}
    assert stage.counted == 2
    assert [stage.calls(3, end, rings.__getitem__) for end in (4, 5, 6, 10, 12)] == [1, 1, 2, 2, 3]


def test_without_a_count_each_row_is_a_call() -> None:
    row = RowCall(one_row(CALL, 20, {IMAGE, OUTPUT}, count=6), {IMAGE: SAME})
    stage = StreamStage(0, row, row, OUTPUT, ())
    assert stage.counted is None and stage.calls(3, 10, lambda _: 20) == 7

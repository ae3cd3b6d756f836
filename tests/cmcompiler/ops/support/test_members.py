"""Which dimensions a reduction makes one of, where they lie in memory."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from harness.toy import tensor

from cmcompiler.ir.operand import Operand
from cmcompiler.ops.support.members import Members

SHAPE = (2, 3, 1, 4)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim_order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 1, 0, 2)])
def test_sums_of_members_are_numpys(dim_order: tuple[int, ...], keepdim: bool) -> None:
    logical = np.arange(24).reshape(SHAPE)
    physical = logical.transpose(dim_order)
    source = Operand(tensor("x", 24), SHAPE, dim_order)
    for dims in (part for n in range(1, 5) for part in combinations(range(4), n)):
        members = Members.of(source, dims, keepdim)
        moved = logical.transpose(members.order)
        if members.is_unmoved:
            np.testing.assert_array_equal(moved, physical)
        parts = moved.reshape(members.outer, members.members, members.inner)
        expected = logical.sum(axis=dims, keepdims=keepdim)
        made = parts.sum(1).ravel()
        in_order = expected.transpose(members.result_order).ravel()
        np.testing.assert_array_equal(made, in_order)


def test_every_order_has_its_run() -> None:
    for dim_order in permutations(range(4)):
        source = Operand(tensor("x", 24), SHAPE, dim_order)
        assert Members.of(source, dim_order[-2:], False).is_unmoved

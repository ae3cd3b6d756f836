"""Batched matrix products on every instruction set equal the reference."""

from __future__ import annotations

import numpy as np
from harness.convolutions import numbers, requantizes, zero_points
from harness.examples import Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.batch_matmul import BatchMatmul


@st.composite
def products(draw: st.DrawFn) -> Example:
    batch, rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 9))
    depth = draw(st.integers(0, 70) | st.just(300))
    if draw(st.booleans()):  # sizes with loops of their own
        columns, depth = draw(st.sampled_from([8, 16])), draw(st.sampled_from([8, 8, 5, 7]))
    data = draw(numbers)
    requantize = draw(requantizes(1, depth))
    op = BatchMatmul(
        (batch, rows, columns, depth), draw(zero_points), draw(zero_points), requantize
    )
    return single(op, data.int8(batch, rows, depth), data.int8(batch, columns, depth))


@settings(max_examples=15)
@given(st.lists(products(), min_size=1, max_size=15))
def test_batched_products(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@given(products())
def test_sums_are_exact(example: Example) -> None:
    (node,), (lhs, rhs) = example.graph.nodes, example.inputs
    op = node.op
    assert isinstance(op, BatchMatmul)
    sums = np.einsum(
        "bmk,bnk->bmn",
        lhs.astype(np.int64) - op.lhs_zero_point,
        rhs.astype(np.int64) - op.rhs_zero_point,
    )
    assert np.array_equal(op.requantize(sums[..., None])[..., 0], op.reference(lhs, rhs)[0])

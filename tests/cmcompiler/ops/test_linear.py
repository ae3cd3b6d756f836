"""Linear layers on every instruction set equal the reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.isa import Isa
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.plan.planner import make_plan


@st.composite
def linears(draw: st.DrawFn) -> Example:
    rows = draw(st.sampled_from([1, 1, 2, 3, 4, 5, 7]))
    depth = draw(st.integers(1, 130) | st.sampled_from([257, 512, 1001, 2048, 4003]))
    columns = draw(st.integers(1, 20))
    data = draw(numbers)
    requantize = draw(requantizes(columns, depth))
    weights, biases = data.int8(columns, depth), data.biases(columns)
    wide, by_rows = draw(st.booleans()), draw(st.booleans())
    op = Linear(weights, biases, requantize, rows, wide, by_rows)
    return single(op, data.int8(rows, depth))


@settings(max_examples=15)
@given(st.lists(linears(), min_size=1, max_size=15))
def test_linear_layers(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@settings(max_examples=15)
@given(st.lists(linears(), min_size=1, max_size=15))
def test_linear_layers_on_a_cortex_m7(cortex_m7: Runtime, examples: list[Example]) -> None:
    cortex_m7.check(*examples)


@pytest.mark.parametrize(
    ("zero_point", "minimum", "weights"),
    [(-128, -128, range(-128, 128)), (3, -90, range(-127, 128)), (5, -128, (-128, 127))],
)
def test_the_last_of_five_rows(
    runtime: Runtime,
    cortex_m7: Runtime,
    zero_point: int,
    minimum: int,
    weights: Sequence[int],
) -> None:
    """The DSP extension takes it alone, as it does a single row: every entry of the loop."""
    data, random = Numbers(1), np.random.default_rng(1)
    limits = {"zero_point": zero_point, "minimum": minimum, "maximum": 127}
    examples = []
    for rows, depth, columns in product((1, 5), (*range(1, 10), 33, 64, 128), (1, 2, 5)):
        requantize = Requantize.checked([1 << 30], [-8], columns, **limits)
        chosen = random.choice(weights, (columns, depth)).astype(np.int8)
        op = Linear(chosen, data.biases(columns), requantize, rows, by_rows=True)
        examples.append(single(op, data.int8(rows, depth)))
    runtime.check(*examples)
    cortex_m7.check(*examples)


@given(linears())
def test_sums_are_exact(example: Example) -> None:
    (node,), (data,) = example.graph.nodes, example.inputs
    op = node.op
    assert isinstance(op, Linear)
    sums = data.astype(np.int64) @ op.weights.T.astype(np.int64) + op.bias
    assert np.array_equal(op.requantize(sums), op.reference(data)[0])


@pytest.mark.parametrize(("isa", "limit"), [(Isa.DSP, 6_200), (Isa.MVE, 4_100)])
def test_long_rows_by_few_columns_take_little_memory(isa: Isa, limit: int) -> None:
    """The arena and, with Helium, no weights that fill up eight columns."""
    data = np.random.default_rng(2)
    weights = data.integers(-127, 128, (4, 4000)).astype(np.int8)
    requantize = Requantize((1 << 30,) * 4, (-12,) * 4, -128, Range(-128, 127))
    op = Linear(weights, np.zeros(4, np.int32), requantize, 1)
    plan = make_plan(single(op, np.zeros((1, 4000), np.int8)).graph, isa)
    assert plan.arena_bytes <= limit
    assert len(plan.constants) <= 16_300

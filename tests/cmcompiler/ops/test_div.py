"""Quantised division on every runtime against the reference."""

from __future__ import annotations

import numpy as np
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, broadcasts, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ops.div import Div

ONE = Loops.over(*[Strided.dense((5,))] * 3)


@st.composite
def quotients(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    dtype = draw(st.sampled_from(["int8", "int16"]))
    lhs, rhs = case.lhs, case.rhs
    if dtype == "int16":
        lhs, rhs = (array(x.shape, dtype, draw(seeds)) for x in (lhs, rhs))
    zero_points = [draw(st.integers(-128, 127)) for _ in range(3)]
    scale = draw(st.floats(2.0**-10, 1000, width=32) | st.integers(-8, 8).map(lambda n: 2.0**n))
    return single(Div(case.loops, case.shape, *zero_points, scale), lhs, rhs)


@settings(max_examples=10)
@given(st.lists(quotients(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_halves_go_to_even_and_division_by_zero_gives_zero() -> None:
    op = Div(ONE, (5,), 0, 0, 10, 1.0)
    lhs, rhs = np.array([1, 3, -1, 5, 100], np.int8), np.array([2, 2, 2, 0, -2], np.int8)
    assert op.reference(lhs, rhs)[0].tolist() == [10, 12, 10, 10, -40]

"""Quantised division on every runtime against the reference."""

from __future__ import annotations

import numpy as np
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, broadcasts, int8_array, seeds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ops.div import Div, _factors, _quotients

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


@st.composite
def tabled(draw: st.DrawFn) -> Example:
    """As many int8 quotients as have factors; divisors of every step."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(64, 90))
    shape = (rows, columns)
    operands = draw(st.sampled_from([(shape, shape), (shape, (rows, 1)), ((rows, 1), shape)]))
    windows = [Strided.dense(each).broadcast(shape) for each in operands]
    lhs, rhs = (int8_array(each, draw(seeds)) for each in operands)
    zero_points = [draw(st.integers(-128, 127)) for _ in range(3)]
    scale = draw(st.floats(2.0**-20, 2.0**24, width=32) | st.sampled_from([0.37, 1.0, 31.7]))
    op = Div(Loops.over(*windows, Strided.dense(shape)), shape, *zero_points, scale)
    return single(op, lhs, rhs)


@settings(max_examples=10)
@given(st.lists(tabled(), min_size=1, max_size=20))
def test_factors_equal_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@given(zero_points=st.tuples(*[st.integers(-128, 127)] * 3), scale=st.floats(2.0**-30, 2.0**30))
def test_words_of_divisors_give_all_quotients(
    zero_points: tuple[int, int, int], scale: float
) -> None:
    over, under, zero_point = zero_points
    words = _factors((*zero_points, scale))
    every = np.arange(256).astype(np.int8)
    assume(words is not None)
    factors, shifts = words[:, None].astype(np.int64) >> 8, -words.astype(np.int8)[:, None]
    products = (every.astype(np.int64) - over) * factors
    assert np.abs(products).max() < 1 << 30
    actual = ((products + (1 << shifts.astype(np.int64) >> 1)) >> shifts) + zero_point
    expected = _quotients((over, under, zero_point, scale), every, every[:, None])
    assert np.array_equal(np.clip(actual, -128, 127), expected)


def test_most_scales_have_factors() -> None:
    scales = np.random.default_rng(0).uniform(0.01, 60, 200)
    found = [_factors((3, -7, 11, float(np.float32(scale)))) is not None for scale in scales]
    assert np.mean(found) > 0.95


@settings(max_examples=10)
@given(st.lists(quotients(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_halves_go_to_even_and_division_by_zero_gives_zero() -> None:
    op = Div(ONE, (5,), 0, 0, 10, 1.0)
    lhs, rhs = np.array([1, 3, -1, 5, 100], np.int8), np.array([2, 2, 2, 0, -2], np.int8)
    assert op.reference(lhs, rhs)[0].tolist() == [10, 12, 10, 10, -40]

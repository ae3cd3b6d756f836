"""Extremes of int8 numbers: every runtime against the reference, calls against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.extreme import Extreme

ORDERS = [(0, 1, 2, 3), (0, 2, 3, 1)]


@st.composite
def extremes(draw: st.DrawFn) -> Example:
    inner = draw(st.just(1) | st.integers(2, 40))
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 70)), inner)
    op = Extreme(draw(st.booleans()), *shape, (shape[0], inner))
    return single(op, int8_array(shape, draw(seeds)))


@settings(max_examples=10)
@given(st.lists(extremes(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def extreme(name: str, source: In, dims: tuple[int, ...], *, keepdim: bool) -> Example:
    actual = getattr(np, name)(source.array, axis=dims, keepdims=keepdim)
    return calling(f"aten::{name}.out", source, dims, keepdim, Out("int8", actual.shape))


@pytest.mark.parametrize("name", ["amax", "amin"])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dims", [(3,), (1,), (2, 3), (-1, 0), (1, 3), (0, 1, 2, 3)])
def test_any_dimensions(
    name: str, dims: tuple[int, ...], order: tuple[int, ...], keepdim: bool
) -> None:
    source = In(int8_array((2, 3, 4, 5), 1), order)
    actual = extreme(name, source, dims, keepdim=keepdim).reference.outputs[0]
    assert np.array_equal(actual, getattr(np, name)(source.array, axis=dims, keepdims=keepdim))


@pytest.mark.parametrize(
    ("order", "dims", "is_own"),
    [(ORDERS[1], (2, 3), True), (ORDERS[0], (2, 3), True), (ORDERS[1], (1, 2), False)],
)
def test_dimensions_next_to_each_other_are_not_moved(
    order: tuple[int, ...], dims: tuple[int, ...], is_own: bool
) -> None:
    example = extreme("amax", In(int8_array((2, 3, 4, 5), 1), order), dims, keepdim=False)
    assert [node.op.label for node in example.graph.nodes] == ["extreme" if is_own else "reduction"]

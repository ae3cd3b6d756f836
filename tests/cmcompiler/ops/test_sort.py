"""Sorted rows: every runtime against the reference, that against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.sort import FEW

DTYPES = ["int8", "uint8", "bool", "int16", "int32", "float32"]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40]
ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0)]


def elements(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Some of them equal."""
    rng = np.random.default_rng(seed)
    if dtype != "float32":
        return rng.integers(-20, 20, shape).astype(dtype)
    x: Array = rng.choice([*SPECIAL, *rng.normal(size=20)], shape).astype(np.float32)
    return x


@st.composite
def sorts(draw: st.DrawFn) -> Example:
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=3, max_size=3)))
    dim, dtype = draw(st.integers(-3, 2)), draw(st.sampled_from(DTYPES))
    orders = [draw(st.sampled_from(ORDERS)) for _ in range(3)]
    x, is_descending = In(elements(shape, dtype, draw(seeds)), orders[0]), draw(st.booleans())
    sizes = list(shape)
    operator, arguments = "aten::sort.values", [x, dim, is_descending]
    if draw(st.booleans()):
        sizes[dim] = draw(st.integers(1, shape[dim]))
        operator, arguments = "aten::topk.values", [x, sizes[dim], dim, is_descending, True]
    outputs = (Out(dtype, tuple(sizes), orders[1]), Out("int64", tuple(sizes), orders[2]))
    return calling(operator, *arguments, *outputs)


@settings(max_examples=10)
@given(st.lists(sorts(), min_size=1, max_size=12))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_the_order_is_that_of_torch(dtype: str, is_descending: bool, dim: int) -> None:
    x = elements((3, 25, 30), dtype, 1)
    outputs = Out(dtype, x.shape), Out("int64", x.shape)
    given: list[Given] = [In(x), True, dim, is_descending, *outputs]
    values, places = calling("aten::sort.values_stable", *given).reference.outputs
    actual = torch.sort(torch.from_numpy(x), dim=dim, descending=is_descending, stable=True)
    np.testing.assert_array_equal(values, actual.values.numpy())
    np.testing.assert_array_equal(places, actual.indices.numpy())


@pytest.mark.parametrize("count", [1, FEW, FEW + 1])
def test_the_first_are_those_of_all(count: int) -> None:
    x = elements((4, 50), "int8", 2)
    given = (In(x), count, 1, True, False, Out("int8", (4, count)), Out("int64", (4, count)))
    values, places = calling("aten::topk.values", *given).reference.outputs
    np.testing.assert_array_equal(values, -np.sort(-x.astype(int), axis=1)[:, :count])
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)


def test_a_single_number() -> None:
    given = (In(np.array(3, np.int8)), 0, False, Out("int8", ()), Out("int64", ()))
    assert [int(x) for x in calling("aten::sort.values", *given).reference.outputs] == [3, 0]


@pytest.mark.parametrize(
    ("x", "outputs", "message"),
    [
        (np.zeros(3, np.int64), ("int64", (3,)), "sorts of int64"),
        (np.zeros(3, np.int8), ("int8", (4,)), r"\[3\] to \[4\]"),
        (np.zeros(3, np.int8), ("float32", (3,)), "int8 to float32"),
        (np.zeros(0, np.int8), ("int8", (0,)), "no elements"),
    ],
)
def test_refusals(x: Array, outputs: tuple[str, tuple[int, ...]], message: str) -> None:
    dtype, shape = outputs
    given = (In(x), 0, False, Out(dtype, shape), Out("int64", shape))
    with pytest.raises(CompilerError, match=message):
        calling("aten::sort.values", *given)

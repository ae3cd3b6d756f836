"""Running sums of integers: every runtime against the reference, that against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example
from harness.runtime import Runtime
from harness.strategies import array, int8_array, rescales, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError

ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0)]


@st.composite
def running_sums(draw: st.DrawFn) -> Example:
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 30)), draw(st.integers(1, 20)))
    rescale = draw(rescales(st.integers(-31, 8)))
    dtype = draw(st.sampled_from(["int8", "int16"]))
    orders = [draw(st.sampled_from(ORDERS)) for _ in range(2)]
    return calling(
        "cmbuild::quantized_cumsum.out",
        *(In(array(shape, dtype, draw(seeds)), orders[0]), draw(st.integers(-3, 2))),
        *(draw(zero_points), rescale.zero_point, rescale.multiplier, rescale.shift),
        Out(dtype, shape, orders[1]),
    )


@settings(max_examples=10)
@given(st.lists(running_sums(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_along_any_dimension(order: tuple[int, ...], dim: int, dtype: str) -> None:
    x = array((2, 3, 5), dtype, 1)
    sums = np.cumsum(x.astype(int) - 3, axis=dim)
    given = (In(x, order), dim, 3, -5, 1 << 30, 1, Out(dtype, x.shape))
    actual = calling("cmbuild::quantized_cumsum.out", *given).reference.outputs[0]
    assert np.array_equal(actual, np.clip(sums - 5, np.iinfo(dtype).min, np.iinfo(dtype).max))


def test_refusals() -> None:
    given = (In(int8_array((3, 4), 1)), 1, 3, -5, 1 << 30, 1, Out("int8", (3, 5)))
    with pytest.raises(CompilerError, match=r"quantized_cumsum.*\[3, 4\] to \[3, 5\]"):
        calling("cmbuild::quantized_cumsum.out", *given)

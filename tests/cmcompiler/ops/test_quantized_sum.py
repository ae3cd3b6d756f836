"""Sums of int8 numbers: every runtime against the reference, the reference against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, rescales, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.support.parameters import Rescale


@st.composite
def sums(draw: st.DrawFn) -> Example:
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 300)), draw(st.integers(1, 40)))
    rescale = draw(rescales(st.integers(-31, 8)))
    op = QuantizedSum(*shape, draw(zero_points), rescale, (shape[0], shape[2]))
    return single(op, int8_array(shape, draw(seeds)))


@settings(max_examples=10)
@given(st.lists(sums(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def summing(
    source: In, dims: tuple[int, ...], out: tuple[int, ...], *, keepdim: bool = False
) -> Example:
    numbers = (keepdim, 3, -5, 1 << 30, -3)
    return calling("cmbuild::quantized_sum.out", source, dims, *numbers, Out("int8", out))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 5), (2, 1, 4, 1)])
@pytest.mark.parametrize("dims", [(3,), (1,), (1, 2), (-1, 0), (1, 3), (0, 1, 2, 3)])
def test_any_dimensions(
    dims: tuple[int, ...], shape: tuple[int, ...], order: tuple[int, ...], keepdim: bool
) -> None:
    x = int8_array(shape, 1)
    sums = (x.astype(int) - 3).sum(axis=dims, keepdims=keepdim)
    expected = np.clip(Rescale(-5, 1 << 30, -3).apply(np.asarray(sums, np.int32)), -128, 127)
    actual = summing(In(x, order), dims, expected.shape, keepdim=keepdim).reference.outputs[0]
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(
    ("dims", "out", "reason"),
    [
        ((), (3, 4), "a sum of 1 elements, not 1 to 4,194,304"),
        ((1,), (4,), "[3, 4] to [4] over [1]"),
        ((1, 1), (3,), "dims has a dimension twice"),
    ],
)
def test_refusals(dims: tuple[int, ...], out: tuple[int, ...], reason: str) -> None:
    with pytest.raises(CompilerError, match="quantized_sum") as error:
        summing(In(int8_array((3, 4), 1)), dims, out)
    assert reason in str(error.value)

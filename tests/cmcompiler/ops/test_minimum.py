"""Minimum and maximum on every runtime, with every kind of broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import broadcasts, int8_array
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ops.minimum import Maximum, Minimum


@st.composite
def choices(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    op = draw(st.sampled_from([Minimum, Maximum]))
    return single(op(case.loops, case.shape), case.lhs, case.rhs)


@settings(max_examples=10)
@given(st.lists(choices(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("op", [Minimum, Maximum])
@pytest.mark.parametrize("shape", [(1, 5, 1, 1), (1, 5, 3, 1), (2, 1, 1, 4), (1, 1, 3, 4), (4,)])
def test_broadcasts_are_numpys(op: type[Minimum], shape: tuple[int, ...]) -> None:
    lhs, rhs = int8_array((2, 5, 3, 4), 1), int8_array(shape, 2)
    windows = [Strided.dense(x.shape).broadcast(lhs.shape) for x in (lhs, rhs)]
    loops = Loops.over(*windows, Strided.dense(lhs.shape))
    choose = np.minimum if op is Minimum else np.maximum
    assert np.array_equal(op(loops, lhs.shape).reference(lhs, rhs)[0], choose(lhs, rhs))


@pytest.mark.parametrize("name", ["minimum", "maximum"])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32"])
def test_other_types_than_int8(runtime: Runtime, name: str, dtype: str) -> None:
    """ExecuTorch's backend uses its own operators for all types, but has kernels for int8 only."""
    lhs, rhs = (int8_array(shape, 3).astype(dtype) for shape in [(2, 5, 3, 4), (5, 1, 4)])
    out = Out(lhs.dtype, lhs.shape, (0, 2, 3, 1))
    example = calling(f"cortex_m::{name}.out", In(lhs), In(rhs), out)
    assert np.array_equal(example.reference.outputs[0], getattr(np, name)(lhs, rhs))
    runtime.check(example)


def test_bounds_that_are_tensors_are_minima_and_maxima(runtime: Runtime) -> None:
    x, low, high = (int8_array(shape, seed) for seed, shape in enumerate([(3, 20), (20,), (3, 1)]))
    out = Out("int8", x.shape)
    example = calling("aten::clamp.Tensor_out", In(x), In(low), In(high), out)
    assert [type(node.op) for node in example.graph.nodes] == [Maximum, Minimum]
    assert np.array_equal(example.reference.outputs[0], np.minimum(np.maximum(x, low), high))
    runtime.check(example)


def test_an_upper_bound_may_repeat_both_other_tensors(runtime: Runtime) -> None:
    x, low, high = (int8_array(shape, seed) for seed, shape in enumerate([(3, 1), (1,), (3, 20)]))
    example = calling("aten::clamp.Tensor_out", In(x), In(low), In(high), Out("int8", high.shape))
    assert np.array_equal(example.reference.outputs[0], np.minimum(np.maximum(x, low), high))
    runtime.check(example)

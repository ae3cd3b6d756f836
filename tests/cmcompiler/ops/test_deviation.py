"""Deviations of rows: every runtime against the reference, the reference against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, int8_array, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.deviation import LONGEST_SHORT, Deviation
from cmcompiler.ops.norm import LONGEST
from cmcompiler.ops.support.parameters import INT8
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.requantize16 import INT16

centres = st.none() | zero_points


@st.composite
def deviations(draw: st.DrawFn) -> Example:
    rows, length = draw(st.integers(1, 5)), draw(st.integers(1, 400))
    limits = draw(st.sampled_from([INT8, INT16]))
    op = Deviation(
        length,
        draw(centres),
        draw(st.booleans()),
        draw(st.sampled_from([0, (1 << 31) - 1]) | st.integers(1 << 30, (1 << 31) - 1)),
        draw(st.integers(-30, 2) | st.sampled_from([-100, 100])),
        draw(zero_points),
        (rows,),
        limits,
    )
    x = array((rows, length), limits.element.name, draw(seeds))
    return single(op, x // x.dtype.type(draw(st.sampled_from([1, 40, 127]))))


@settings(max_examples=10)
@given(st.lists(deviations(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_the_longest_rows_on_every_runtime(runtime: Runtime) -> None:
    x = np.full((1, LONGEST), -128, np.int8)
    x[:, ::2] = 127
    for centre in (None, 127, -128):
        op = Deviation(LONGEST, centre, True, 1 << 30, -10, -128, (1,))
        runtime.check(single(op, x))
    short = np.where(x[:, :LONGEST_SHORT] < 0, -32768, 32767).astype(np.int16)
    op = Deviation(LONGEST_SHORT, None, True, 1 << 30, -14, 0, (1,), INT16)
    runtime.check(single(op, short))


@given(
    length=st.integers(1, 300),
    centre=centres,
    is_root=st.booleans(),
    factor=st.floats(1e-2, 1),
    seed=seeds,
    limits=st.sampled_from([INT8, INT16]),
)
def test_within_a_step_of_the_real_function(
    *, length: int, centre: int | None, is_root: bool, factor: float, seed: int, limits: Range
) -> None:
    x = array((3, length), limits.element.name, seed).astype(np.float64)
    factor = factor if is_root or limits is INT8 else factor / 65536
    distance = x - (x.mean(axis=1, keepdims=True) if centre is None else centre)
    real = (distance**2).mean(axis=1)
    real = np.sqrt(real) if is_root else real
    count = length**2 if centre is None else length
    mantissa, shift = math.frexp(factor / (math.sqrt(count) if is_root else count))
    multiplier = min(round(mantissa * 2**31), (1 << 31) - 1)
    op = Deviation(length, centre, is_root, multiplier, shift, -128, (3,), limits)
    (actual,) = op.reference(x.astype(limits.element))
    expected = np.clip(real * factor - 128, limits.minimum, limits.maximum)
    assert np.abs(actual - expected).max() < 0.51


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
@pytest.mark.parametrize("dims", [(1,), (-1,), (0, 2), (2, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_any_dimensions(order: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> None:
    x = int8_array((2, 3, 5), 1)
    deviation = x.astype(float).std(axis=dims, keepdims=keepdim)
    count = math.prod(x.shape[dim] for dim in dims)
    mantissa, shift = math.frexp(1 / count)
    numbers = (None, True, round(mantissa * 2**31) - 1, shift, -3)
    out = Out("int8", deviation.shape)
    given = (In(x, order), dims, keepdim, *numbers, out)
    actual = calling("cmbuild::quantized_deviation.out", *given).reference.outputs[0]
    assert np.abs(actual - (deviation - 3)).max() < 0.51


@pytest.mark.parametrize(
    ("dims", "shift", "out", "reason"),
    [
        ((1,), 101, (3,), "shift = 101 is outside -100..100"),
        ((1,), 0, (3, 1), "[3, 5] to [3, 1] over [1]"),
    ],
)
def test_refusals(dims: tuple[int, ...], shift: int, out: tuple[int, ...], reason: str) -> None:
    with pytest.raises(CompilerError, match="quantized_deviation") as error:
        calling(
            "cmbuild::quantized_deviation.out",
            *(In(int8_array((3, 5), 1)), dims, False, None, True, 9, shift, 0, Out("int8", out)),
        )
    assert reason in str(error.value)

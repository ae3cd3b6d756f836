"""Pools on every runtime: windows over edges, odd channels, large windows, ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, ranges, seeds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.parameters import INT8
from cmcompiler.ops.support.pooling import Pool2d, PoolArguments
from cmcompiler.ops.support.requantize import Int8Array, Range
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan


@st.composite
def windows(draw: st.DrawFn, dilated: bool) -> Window:
    kernel = draw(st.tuples(*[st.integers(1, 5)] * 2))
    padding = (draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2)))
    dilation = draw(st.tuples(*[st.integers(1, 2)] * 2)) if dilated else (1, 1)
    return Window(kernel, draw(st.tuples(*[st.integers(1, 4)] * 2)), padding, dilation)


@st.composite
def images(draw: st.DrawFn) -> Int8Array:
    sizes = (st.integers(1, 2), st.integers(1, 12), st.integers(1, 12), st.integers(1, 40))
    return int8_array(tuple(draw(size) for size in sizes), draw(seeds))


@st.composite
def pools(draw: st.DrawFn) -> Example:
    is_maximum, image = draw(st.booleans()), draw(images())
    window = draw(windows(dilated=is_maximum))
    size = window.output_size(image.shape[1:3], draw(st.booleans()))
    assume(min(size) > 0)
    shape = (image.shape[0], *size, image.shape[3])
    op = MaxPool2d(window, shape, draw(ranges())) if is_maximum else AvgPool2d(window, shape)
    return single(op, image)


@settings(max_examples=10)
@given(st.lists(pools(), min_size=1, max_size=30))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_large_windows(runtime: Runtime) -> None:
    """Areas around the limits of 16-bit sums and 16-bit reciprocals, with extreme values."""
    examples = []
    for height, width in ((7, 7), (16, 16), (1, 255), (1, 257), (20, 19), (70, 65)):
        image = int8_array((1, height, width, 21), 3)
        image[..., 5:10], image[..., 10:15] = -128, 127
        op = AvgPool2d(Window((height, width)), (1, 1, 1, 21))
        examples.append(single(op, image))
    runtime.check(*examples)


@pytest.mark.parametrize("pool", [AvgPool2d, partial(MaxPool2d, range=INT8)])
@pytest.mark.parametrize("rows", [(1, 1), (5, 1), (4, 2)])
def test_columns_take_whole_rows(
    pool: Callable[[Window, tuple[int, ...]], Pool2d], rows: tuple[int, int], runtime: Runtime
) -> None:
    """Windows of one column each combine rows of the image, however few channels it has."""
    height, stride = rows
    window = Window((height, 1), (stride, 1), (height // 2, 0))
    shape = (2, *window.output_size((9, 13)), 3)
    op, image = pool(window, shape), int8_array((2, 9, 13, 3), 7)
    given, made = Tensor("x", image.dtype, image.shape), Tensor("y", image.dtype, shape)
    (call,) = op.kernel_calls((given,), (made,), Isa.SCALAR)
    assert isinstance(call.typed, PoolArguments)
    assert call.typed.pool.output.pixels == shape[0] * shape[1]
    runtime.check(single(op, image))


def test_means_of_one_number_are_the_image() -> None:
    arguments = (In(int8_array((1, 3, 4, 5), 1)), (1, 1), (1, 1), (0, 0), False, 0, 1 << 30, 0)
    scratch = In(np.zeros(4, np.int8), constant=True)
    result = Out(np.int8, (1, 3, 4, 5))
    example = calling("cortex_m::quantized_avg_pool2d_nhwc.out", *arguments, scratch, result)
    plan = make_plan(example.graph, Isa.SCALAR, PlanOptions(streams=False))
    assert not any(step.kernel.startswith("avg_pool") for step in plan.steps)


def test_every_sum_of_small_windows(runtime: Runtime) -> None:
    """All means of windows of n equal numbers and one other, for n where the rounding differs."""
    examples = []
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 16):
        image = np.repeat(np.arange(-128, 128, dtype=np.int8), 256).reshape(1, 1, -1)
        other = np.tile(np.arange(-128, 128, dtype=np.int8), 256).reshape(1, 1, -1)
        row = np.stack([image] * (count - 1) + [other], axis=2).reshape(1, 1, count, -1)
        op = AvgPool2d(Window((1, count)), (1, 1, 1, row.shape[-1]))
        examples.append(single(op, row))
    runtime.check(*examples)


def test_means_leave_the_padding_out() -> None:
    image = np.array([[10, 20], [30, 41]], np.int8).reshape(1, 2, 2, 1)
    op = AvgPool2d(Window((2, 2), (1, 1), (1, 1)), (1, 3, 3, 1))
    assert op.reference(image)[0].ravel().tolist() == [10, 15, 20, 20, 25, 31, 30, 36, 41]


def test_halves_of_means_go_away_from_zero() -> None:
    """Upstream's Python dialect rounds the distance from the zero point, halves to even."""
    image = np.array([1, 2, -1, -2, 3, 4, -3, -4], np.int8).reshape(1, 1, 8, 1)
    op = AvgPool2d(Window((1, 2), (1, 2)), (1, 1, 4, 1))
    assert op.reference(image)[0].ravel().tolist() == [2, -2, 4, -4]


def test_maxima_leave_the_padding_out() -> None:
    image = np.full((1, 1, 1, 1), -100, np.int8)
    op = MaxPool2d(Window((3, 3), (1, 1), (1, 1)), (1, 1, 1, 1), Range(-128, 127))
    assert op.reference(image)[0].item() == -100


def test_ceil_mode_has_no_window_that_begins_in_the_right_padding() -> None:
    window = Window((2, 2), (3, 3), (1, 1))
    assert window.output_size((5, 6), ceil_mode=False) == (2, 3)
    assert window.output_size((5, 6), ceil_mode=True) == (2, 3)
    assert Window((3, 3), (2, 2)).output_size((6, 6), ceil_mode=True) == (3, 3)

"""Transposed convolutions match the reference on every instruction set, and it matches torch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from harness.convolutions import Geometry, Numbers, images, numbers, requantizes, zero_points
from harness.examples import Example, single
from harness.runtime import Runtime
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.ops.support.requantize import Range16, Requantize
from cmcompiler.ops.support.requantize16 import Requantize16
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import TransposeConv2d, phases, without_zeros


@st.composite
def transposed(draw: st.DrawFn) -> Example:
    pair, size = st.tuples(*[st.integers(1, 4)] * 2), st.integers(1, 7)
    window = Window(draw(pair), draw(pair), draw(st.tuples(*[st.integers(0, 4)] * 2)), draw(pair))
    geometry = Geometry(window, draw(st.sampled_from([1, 2])), draw(size), draw(size))
    extra = [
        st.integers(0, max(*axis) - 1) for axis in zip(window.stride, window.dilation, strict=True)
    ]
    height, width = window.transposed_size(geometry.height, geometry.width, draw(st.tuples(*extra)))
    assume(height > 0 and width > 0)
    channels, outputs = draw(st.sampled_from([1, 3, 16, 17])), draw(st.sampled_from([1, 2, 4, 5]))
    data = draw(numbers)
    op = TransposeConv2d(
        data.int8(outputs, *window.kernel, channels),
        data.biases(outputs),
        window,
        draw(zero_points),
        draw(requantizes(outputs, window.area * channels)),
        (geometry.batch, height, width, outputs),
        (geometry.batch, geometry.height, geometry.width, channels),
        draw(st.booleans()),
    )
    return single(op, images(data, geometry, channels))


@settings(max_examples=12)
@given(st.lists(transposed(), min_size=1, max_size=12))
def test_transposed_convolutions(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_taps_beyond_the_only_column_of_an_image(runtime: Runtime) -> None:
    window = Window((1, 3), (1, 4), (0, 1), (1, 3))
    requantize = Requantize.checked([1 << 30], [-1], 1, zero_point=3, minimum=-128, maximum=127)
    weights, bias = np.full((1, *window.kernel, 1), 9, np.int8), np.full(1, 40, np.int32)
    op = TransposeConv2d(weights, bias, window, 0, requantize, (1, 1, 5, 1), (1, 1, 1, 1), False)
    runtime.check(single(op, np.full((1, 1, 1, 1), 7, np.int8)))


def test_rows_of_odd_phases_above_and_below_an_image(runtime: Runtime) -> None:
    """Helium leaves out padding only of even numbers of windows; here they are 41 of 82 pixels."""
    window, outputs, channels = Window((4, 4), (2, 2)), 16, 32
    data = Numbers(0)
    x = data.int8(1, 1, 40, channels)
    weights, bias = data.int8(outputs, *window.kernel, channels), data.biases(outputs)
    multipliers, shape = [1 << 30] * outputs, (1, 4, 82, outputs)
    scale = Requantize.checked([1 << 30], [-9], outputs, zero_point=-5, minimum=-128, maximum=127)
    op = TransposeConv2d(weights, bias, window, 3, scale, shape, x.shape, False)
    short = Requantize16.of(multipliers, (-12,) * outputs, Range16(-32768, 32767), is_long=True)
    runtime.check(
        single(op, x),
        single(replace(op, weights=weights // 17), x),
        single(
            replace(op, bias=bias.astype(np.int64), input_zero_point=0, requantize=short),
            x.astype(np.int16) * 201,
        ),
    )


@settings(max_examples=60)
@given(example=transposed())
def test_sums_are_torchs(example: Example) -> None:
    torch = pytest.importorskip("torch")
    (node,), (data,) = example.graph.nodes, example.inputs
    op = node.op
    assert isinstance(op, TransposeConv2d)
    whole = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(data.astype(np.float64) - op.input_zero_point).permute(0, 3, 1, 2),
        torch.from_numpy(op.weights.transpose(3, 0, 1, 2).astype(np.float64)),
        stride=op.window.stride,
        dilation=op.window.dilation,
    )
    top, left = op.window.padding
    height, width = op.output_shape[1:3]
    padded = torch.nn.functional.pad(whole, (0, left + width, 0, top + height))
    sums = padded[:, :, top : top + height, left : left + width]
    assert np.array_equal(op.accumulate(data), sums.permute(0, 2, 3, 1).numpy())


@given(
    kernel=st.integers(1, 5),
    stride=st.integers(1, 5),
    padding=st.integers(0, 5),
    dilation=st.integers(1, 5),
    size=st.integers(1, 20),
)
def test_phases_cover_every_output_and_tap_once(
    kernel: int, stride: int, padding: int, dilation: int, size: int
) -> None:
    met = []
    for phase in phases(kernel, stride, padding, dilation, size):
        for index, (position, tap) in product(range(phase.count), enumerate(phase.taps)):
            pixel = phase.start + index + position * phase.dilation
            met.append((phase.first + index * stride, tap, pixel))
    expected = [
        (y, k, (y + padding - k * dilation) // stride)
        for y, k in product(range(size), range(kernel))
        if (y + padding - k * dilation) % stride == 0
    ]
    assert sorted(met) == expected


@given(
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    used=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    dilation=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_taps_of_zero_do_not_matter(
    kernel: tuple[int, int],
    used: list[tuple[int, int]],
    dilation: tuple[int, int],
    padding: tuple[int, int],
) -> None:
    weights = np.zeros((2, *kernel, 3), np.int8)
    for row, column in used:
        weights[:, row % kernel[0], column % kernel[1]] = row + 5 * column + 1
    window = Window(kernel, (2, 3), padding, dilation)
    image = np.arange(3 * 4 * 3).astype(np.int8).reshape(1, 3, 4, 3)
    requantize = Requantize.checked(
        [1 << 30] * 2, [1] * 2, 2, zero_point=0, minimum=-128, maximum=127
    )
    rest = (1, requantize, (1, 9, 15, 2), image.shape)
    bias = np.zeros(2, np.int32)
    whole = TransposeConv2d(weights, bias, window, *rest)
    fewer, moved = without_zeros(weights, window)
    trimmed = TransposeConv2d(fewer, bias, moved, *rest)
    assert np.array_equal(whole.accumulate(image), trimmed.accumulate(image))
    assert fewer.size <= weights.size
    assert np.count_nonzero(fewer) == np.count_nonzero(weights)

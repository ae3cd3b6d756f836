"""Convolutions with several filters for each channel or small group equal the reference, and so do
layers of which some channels are rounded otherwise."""

from __future__ import annotations

import itertools

import pytest
from harness.convolutions import Geometry, Numbers, images
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.planner import make_plan


def several_filters(
    channels: int, each: int, window: Window, size: tuple[int, int], shift: int
) -> Example:
    """A depthwise layer with several filters for each channel."""
    data, outputs = Numbers(channels), channels * each
    requantize = Requantize.checked(
        [(1 << 30) + (i << 20) for i in range(outputs)],
        [shift - i % 2 for i in range(outputs)],
        outputs,
        zero_point=5,
        minimum=-128,
        maximum=100,
    )
    op = DepthwiseConv2d(
        data.int8(*window.kernel, outputs),
        data.biases(outputs),
        window,
        -3,
        requantize,
        (1, *window.output_size(size), outputs),
    )
    return single(op, images(data, Geometry(window, 1, *size), channels))


@pytest.mark.parametrize("shift", [-8, 1], ids=["right", "general"])
def test_several_filters_for_each_channel(runtime: Runtime, shift: int) -> None:
    inside, padded = Window((7, 1)), Window((3, 3), (2, 1), padding=(1, 1), dilation=(1, 2))
    small, apart = Window((3, 3), padding=(1, 1)), Window((3, 3), (2, 2), padding=(0, 1))
    runtime.check(
        *(several_filters(c, 2 + c % 4, inside, (7, 1 + c), shift) for c in range(1, 18)),
        *(several_filters(c, 2 + c % 3, padded, (5, 4 + c), shift) for c in range(1, 18)),
        *(several_filters(c, 2 + c % 3, small, (6, 2 + c), shift) for c in range(1, 18)),
        *(several_filters(c, 2, apart, (7, 4 + c), shift) for c in range(1, 8)),
        several_filters(3, 2, Window((64, 1)), (64, 9), shift),
        several_filters(40, 2, Window((12, 2)), (12, 150), shift),  # rows beyond offsets of 16 bits
    )


def test_one_tap_is_left_to_products_of_pixels() -> None:
    example = several_filters(4, 2, Window((1, 1)), (8, 8), -8)
    (step,) = make_plan(example.graph, Isa.MVE).steps
    assert step.kernel.startswith("pixel_conv2d")


def odd_channels(channels: int, window: Window, size: tuple[int, int], odd: int) -> Example:
    """A depthwise layer of which one channel, or the first of each seven, is rounded otherwise."""
    data = Numbers(channels)
    shifts = [(0, -25, 2)[i % 3] if i % 7 == odd else -8 - i % 2 for i in range(channels)]
    requantize = Requantize.checked(
        *([(1 << 30) + (i << 20) for i in range(channels)], shifts, channels),
        zero_point=-128 if odd else 3,
        minimum=-128,
        maximum=127 - channels % 2,
    )
    op = DepthwiseConv2d(
        data.int8(*window.kernel, channels),
        data.biases(channels) // 64,
        window,
        -3,
        requantize,
        (1, *window.output_size(size), channels),
    )
    return single(op, images(data, Geometry(window, 1, *size), channels))


def test_some_channels_are_rounded_otherwise(runtime: Runtime) -> None:
    examples = [
        odd_channels(channels, Window((k, k), stride, padding), (6, 5 + channels), odd)
        for channels in range(3, 18)
        for k, stride, padding, odd in (
            *((3, (1, 1), (1, 1), 0), (3, (2, 2), (0, 1), 2), (3, (2, 1), (1, 0), 1)),
            *((5, (1, 1), (2, 2), 1), (5, (2, 2), (2, 1), 0)),
        )
    ]
    nodes = [example.graph.nodes[0] for example in examples]
    for isa in runtime.isas:
        calls = [node.op.kernel_calls(node.inputs, node.outputs, isa) for node in nodes]
        share = 2 if isa is Isa.MVE else 3
        assert sum(len(call) == 2 for call in calls) > len(examples) // share
    runtime.check(*examples)


def few_channels(depth: int, groups: int, each: int, window: Window, width: int) -> Example:
    """A convolution in groups of few channels."""
    data, outputs = Numbers(depth), groups * each
    requantize = Requantize.checked(
        [(1 << 30) + (i << 20) for i in range(outputs)],
        [-9 - i % 2 for i in range(outputs)],
        outputs,
        zero_point=-7,
        minimum=-128,
        maximum=100 + groups,
    )
    geometry = Geometry(window, 1, 5, width)
    op = GroupedConv2d(
        data.int8(outputs, *window.kernel, depth),
        data.biases(outputs),
        window,
        -3,
        requantize,
        (1, *window.output_size((5, width)), outputs),
        groups,
    )
    return single(op, images(data, geometry, groups * depth))


def test_groups_of_few_channels(runtime: Runtime) -> None:
    windows = [Window((3, 3), padding=(1, 1)), Window((3, 2), (2, 2)), Window((2, 1), (1, 1))]
    windows.append(Window((1, 3), (1, 2), padding=(0, 2), dilation=(1, 2)))
    sizes = itertools.cycle(itertools.product((4, 8, 12, 16), (2, 3, 5), (1, 2, 3, 4)))
    runtime.check(
        *(
            few_channels(depth, groups, each, window, width)
            for width in range(3, 14)
            for window, (depth, groups, each) in zip(windows, sizes, strict=False)
        )
    )

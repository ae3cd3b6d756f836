"""Convolutions whose windows share pixels, as far apart as rows that loops are made for."""

from __future__ import annotations

import itertools

from harness.convolutions import Geometry, Numbers, images
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window


def test_neighbouring_windows(runtime: Runtime) -> None:
    """Patches that share pixels, in pairs or alone, of as many bytes as loops are made for."""
    sides = itertools.cycle([(1, 1), (0, 0), (1, 0)])
    runtime.check(
        *(
            neighbouring_windows(channels, width, next(sides), stride)
            for channels in (4, 8, 16, 24, 32, 40, 48, 56)
            for width in (3, 4, 6, 7, 12, 13)
            for stride in ((1, 1), (2, 1))
        )
    )


def neighbouring_windows(
    channels: int, width: int, padding: tuple[int, int], stride: tuple[int, int]
) -> Example:
    data = Numbers(width)
    geometry = Geometry(Window((3, 3), stride, padding), 1, 5, width)
    requantize = Requantize.checked([1 << 30], [-9], 5, zero_point=-3, minimum=-128, maximum=127)
    op = Conv2d(
        data.int8(5, 3, 3, channels),
        data.biases(5),
        geometry.window,
        7,
        requantize,
        (1, *geometry.output_size, 5),
    )
    return single(op, images(data, geometry, channels))


def test_neighbouring_windows_of_groups(runtime: Runtime) -> None:
    """Strips of each group, whose windows share columns."""
    runtime.check(
        *(
            neighbouring_windows_of_groups(depth, Window(kernel, (1, step)))
            for distance in (8, 16, 32, 64, 128)
            for depth, step in itertools.product((4, 8, 16), (1, 2))
            for kernel in [(distance // (depth * step), step + 1)]
            if 1 <= kernel[0] <= 8
        )
    )


def neighbouring_windows_of_groups(depth: int, window: Window) -> Example:
    data = Numbers(depth)
    geometry = Geometry(window, 1, 9, 12)
    op = GroupedConv2d(
        data.int8(6, *window.kernel, depth),
        data.biases(6),
        window,
        7,
        Requantize.checked([1 << 30], [-8], 6, zero_point=-128, minimum=-128, maximum=127),
        (1, *geometry.output_size, 6),
        2,
    )
    return single(op, images(data, geometry, 2 * depth))

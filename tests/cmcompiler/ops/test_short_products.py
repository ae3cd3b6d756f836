"""Matrix products with int16 activations: every runtime against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of

import numpy as np
from harness.examples import Example, single
from harness.rows import InRings
from harness.runtime import Runtime

from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.packing16 import Filters16
from cmcompiler.ops.support.requantize import Range16
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.ops.support.window import Window

SHAPES = [
    *((rows, depth, columns) for rows in (1, 2, 3) for depth in (1, 2, 7) for columns in (1, 4, 6)),
    *((4, depth, 8) for depth in (4, 31, 32, 33, 63, 130)),
    *((1, depth, columns) for depth in (8, 9, 17, 31, 64, 100, 135) for columns in (4, 9, 16)),
    (5, 511, 5),
]
TAILS = [(2 + depth % 2, depth, 4) for depth in range(1, 41)]
"""Every length of what loops leave over."""

LIMITS = (INT16, Range16(0, 20000), Range16(0, 32767), Range16(-9000, 32767))


def product(
    random: np.random.Generator, shape: Sequence[int], limits: Range16, is_extreme: bool = False
) -> Example:
    """An example whose sums fit 32 bits, or just do."""
    rows, depth, columns = shape
    if is_extreme:
        weights = random.choice([-127, 127], (columns, depth)).astype(np.int8)
        features = random.choice([-32768, 32767], (rows, depth)).astype(np.int16)
        features[0] = np.where(weights[0] < 0, -32768, 32767)
    else:
        weights = random.integers(-128, 128, (columns, depth)).astype(np.int8)
        features = random.integers(-32768, 32768, (rows, depth)).astype(np.int16)
    bias = random.integers(-30000, 30000, columns)
    multipliers = random.integers(1 << 30, 1 << 31, columns).tolist()
    shifts = (-random.integers(3, 20, columns)).tolist()
    requantize = Requantize16.of(multipliers, shifts, limits, is_long=True)
    return single(Linear(weights, bias, requantize, rows), features)


def long_product(random: np.random.Generator, is_long: bool) -> Example:
    """An example whose sums do not fit 32 bits, or whose bias has no more."""
    weights = random.integers(-128, 128, (5, 700)).astype(np.int8)
    weights[0] = 127
    features = random.integers(-32768, 32768, (3, 700)).astype(np.int16)
    features[0] = 32767
    bias = random.integers(-(1 << 40), 1 << 40, 5) if is_long else np.arange(5)
    multipliers = random.integers(1 << 30, 1 << 31, 5).tolist()
    requantize = Requantize16.of(multipliers, [-14, -3, 2, -20, -16], INT16, is_long)
    return single(Linear(weights, bias, requantize, 3), features)


def depthwise(
    random: np.random.Generator,
    channels: int,
    window: Window,
    size: tuple[int, int] = (6, 7),
    is_extreme: bool = False,
) -> Example:
    """Windows that hang over each side of the image."""
    weights = random.integers(-128, 128, (*window.kernel, channels)).astype(np.int8)
    values = [-32768, 32767] if is_extreme else [-32768, -1, 0, 9876, 32767]
    images = random.choice(values, (2, *size, channels)).astype(np.int16)
    if is_extreme:
        weights = random.choice([-128, 127], weights.shape).astype(np.int8)
    bias = random.integers(-30000, 30000, channels)
    multipliers = random.integers(1 << 30, 1 << 31, channels).tolist()
    shifts = (-random.integers(3, 12, channels)).tolist()
    limits = LIMITS[channels % len(LIMITS)]
    requantize = Requantize16.of(multipliers, shifts, limits, is_long=True)
    shape = (2, *window.output_size(size), channels)
    return single(DepthwiseConv2d(weights, bias, window, 0, requantize, shape), images)


WINDOWS = (
    Window((3, 3), (1, 1), (1, 1)),
    Window((1, 5), (1, 2), (0, 2)),
    Window((3, 2), (2, 1), (2, 0), (2, 3)),
    Window((17, 1), (1, 1), (8, 0)),
)
"""The last one has more rows than a pixel's microkernel takes."""


def pixels() -> list[Example]:
    random = np.random.default_rng(34)
    return [depthwise(random, channels, w) for channels in (*range(1, 10), 17, 24) for w in WINDOWS]


OF_THREE = (
    Window((3, 3), (1, 1), (1, 1)),
    Window((3, 3), (2, 2), (1, 1)),
    Window((3, 3), (2, 2), (0, 0)),
    Window((3, 3), (1, 2), (1, 0)),
    Window((3, 3), (2, 1), (0, 1)),
    Window((2, 3), (1, 1), (1, 1)),
    Window((3, 1), (1, 1), (1, 0)),
)


def bands() -> list[Example]:
    """Of 3x3: rows in bands, whole and in parts, and channels that do not fill a vector."""
    random = np.random.default_rng(35)
    sizes = ((7, 6), (3, 9), (1, 3), (5, 50), (40, 1))
    return [
        depthwise(random, channels, window, size, is_extreme)
        for channels in (1, 3, 4, 6, 8, 9, 18)
        for size, is_extreme in zip(sizes, (False, True, False, True, False), strict=True)
        for window in OF_THREE
        if min(window.output_size(size)) > 0
    ]


def convolution(
    random: np.random.Generator, window: Window, shape: tuple[int, int, int, int], channels: int
) -> Example:
    weights = random.integers(-128, 128, (channels, *window.kernel, shape[3])).astype(np.int8)
    images = random.integers(-32768, 32768, shape).astype(np.int16)
    multipliers = random.integers(1 << 30, 1 << 31, channels).tolist()
    limits = LIMITS[channels % len(LIMITS)]
    requantize = Requantize16.of(multipliers, [-9] * channels, limits, is_long=True)
    out = (shape[0], *window.output_size(shape[1:3]), channels)
    bias = random.integers(-30000, 30000, channels)
    return single(Conv2d(weights, bias, window, 0, requantize, out), images)


def convolutions() -> list[Example]:
    """Windows without patches and with them: of odd rows, and of gaps."""
    random = np.random.default_rng(36)
    windows = (
        Window((3, 3), (1, 1), (1, 1)),
        Window((3, 3), (2, 2), (1, 1)),
        Window((1, 5), (1, 2), (0, 3)),
        Window((4, 2), (2, 1), (3, 1)),
        Window((3, 3), (1, 1), (2, 2), (2, 2)),
        Window((1, 1), (2, 2)),
    )
    shapes = ((1, 5, 8, 4), (1, 3, 7, 2), (2, 4, 6, 6), (1, 1, 2, 8), (1, 6, 20, 3))
    return [
        convolution(random, window, shape, channels)
        for window, shape in product_of(windows, shapes)
        for channels in (2, 5, 8)
        if min(window.output_size(shape[1:3])) > 0
    ]


def test_convolutions_equal_the_reference(runtime: Runtime) -> None:
    examples = convolutions()
    for isa in runtime.isas:
        nodes = [node for each in examples for node in each.graph.nodes]
        calls = [node.op.kernel_calls(node.inputs, node.outputs, isa) for node in nodes]
        without = "strip_conv2d_s16" if isa is Isa.MVE else "implicit_conv2d_s16"
        kernels = {call.kernel for each in calls for call in each}
        assert kernels >= {"conv2d_s16", "pixel_conv2d_s16", without}
    runtime.check(*examples)


def test_rows_of_convolutions_may_lie_in_rings(runtime: Runtime) -> None:
    """Windows whose rows follow each other, and those of both ends of a ring."""
    examples = []
    for each, first in product_of(convolutions()[::2], (0, 1, 2)):
        (node,), (images,) = each.graph.nodes, each.inputs
        assert isinstance(node.op, Conv2d)
        height = node.op.output_shape[1]
        if first + 1 < height and len(images) == 1:
            op = InRings(node.op, node.op.window, images.shape[1], height, (first, height - 1))
            examples.append(single(op, op.fill(images)))
    runtime.check(*examples)


def test_bands_of_depthwise_layers_equal_the_reference(runtime: Runtime) -> None:
    runtime.check(*bands())


def test_cores_without_dsp_equal_the_reference(without_dsp: Runtime) -> None:
    without_dsp.check(*bands(), *examples())


def test_pixels_of_depthwise_layers_equal_the_reference(runtime: Runtime) -> None:
    runtime.check(*pixels())


def examples() -> list[Example]:
    random = np.random.default_rng(33)
    usual = [product(random, shape, limits) for shape in SHAPES for limits in LIMITS]
    extreme = [product(random, shape, INT16, True) for shape in SHAPES]
    usual += [product(random, tail, LIMITS[tail[1] % len(LIMITS)]) for tail in TAILS]
    return [*usual, *extreme, *(long_product(random, each) for each in (True, False))]


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    runtime.check(*examples())


def test_a_cortex_m7_equals_the_reference(cortex_m7: Runtime) -> None:
    cortex_m7.check(*bands(), *examples(), *convolutions())


def test_sums_are_short_where_none_can_leave_32_bits() -> None:
    requantize = Requantize16.of([1 << 30], [-3], INT16, is_long=True)
    for depth, bias, is_short in ((516, 0, True), (517, 0, False), (516, 1 << 30, False)):
        weights = np.full((1, depth), 127, np.int8)
        assert Filters16.of(weights, np.array([bias]), requantize).is_short is is_short
    sizes = {len(Filters16.of(weights, np.array([0]), requantize).packed(isa)) for isa in Isa}
    assert max(sizes) < 5 * depth

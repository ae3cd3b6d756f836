"""Convolutions on every instruction set equal the reference, and the reference equals torch's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness.convolutions import (
    Geometry,
    Numbers,
    geometries,
    images,
    numbers,
    requantizes,
    zero_points,
)
from harness.examples import Example, single
from harness.rows import InRanges, InRings
from harness.runtime import Runtime
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import KernelCall, Scratch
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support import depthwise_schemes, packing
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan import scratch
from cmcompiler.plan.draft import ARENA_LIMIT
from cmcompiler.plan.scratch import call_scratch

batches = settings(max_examples=12)


@st.composite
def convolutions(draw: st.DrawFn, geometry: Geometry | None = None) -> Example:
    geometry = geometry or draw(geometries())
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    per_group = draw(st.sampled_from([1, 2, 3, 5, 8, 16, 17, 40]))
    outputs = groups * draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 13]))
    data = draw(numbers)
    height, width = geometry.window.kernel
    op = GroupedConv2d(
        data.int8(outputs, height, width, per_group),
        data.biases(outputs),
        geometry.window,
        draw(zero_points),
        draw(requantizes(outputs, height * width * per_group)),
        (geometry.batch, *geometry.output_size, outputs),
        groups,
        wide=draw(st.booleans()),
    )
    return single(op, images(data, geometry, groups * per_group))


@st.composite
def pixelwise(draw: st.DrawFn) -> Example:
    """1x1 kernels, whose rows are merged if contiguous."""
    stride = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2), (2, 1)]))
    size = st.integers(1, 12)
    window = Window((1, 1), stride)
    geometry = Geometry(window, draw(st.sampled_from([1, 2])), draw(size), draw(size))
    return draw(convolutions(geometry))


@st.composite
def without_patches(draw: st.DrawFn) -> Example:
    """Windows that may be packed from where they lie: rows of outputs are a multiple of four."""
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(2, 5)))
    channels = draw(st.sampled_from([4, 8, 12, 20]))
    if draw(st.booleans()):  # rows of one byte more than whole words
        width, channels = draw(st.sampled_from([(3, 3), (3, 7), (5, 1), (1, 9), (1, 5), (13, 1)]))
        kernel = 3, width
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    counts = draw(st.tuples(st.integers(1, 7), st.sampled_from([4, 8, 12])))
    height, width = (
        (count - 1) * step + side - 2 * around + draw(st.integers(0, step - 1))
        for count, step, side, around in zip(counts, stride, kernel, padding, strict=True)
    )
    assume(min(height, width) > 0)
    geometry = Geometry(Window(kernel, stride, padding), 1, height, width)
    outputs, data = draw(st.integers(1, 6)), draw(numbers)
    requantize = Requantize.checked(
        [1 << 30],
        [-8],
        outputs,
        zero_point=draw(st.sampled_from([-128, 3])),
        minimum=-128,
        maximum=127,
    )
    op = Conv2d(
        data.int8(outputs, *kernel, channels),
        data.biases(outputs),
        geometry.window,
        draw(zero_points),
        requantize,
        (1, *geometry.output_size, outputs),
        wide=draw(st.booleans()),
    )
    return single(op, images(data, geometry, channels))


@st.composite
def depthwise(draw: st.DrawFn, geometry: Geometry | None = None) -> Example:
    geometry = geometry or draw(geometries())
    channels = draw(st.sampled_from([2, 3, 8, 15, 16, 17, 32, 39]))
    outputs = channels * draw(st.sampled_from([1, 1, 1, 2, 3]))
    data = draw(numbers)
    op = DepthwiseConv2d(
        data.int8(*geometry.window.kernel, outputs),
        data.biases(outputs),
        geometry.window,
        draw(zero_points),
        draw(requantizes(outputs, geometry.window.area)),
        (geometry.batch, *geometry.output_size, outputs),
    )
    return single(op, images(data, geometry, channels))


@st.composite
def depthwise_of_size(draw: st.DrawFn, size: int) -> Example:
    """Kernels with their own microkernel: any width, including more than its workspace holds."""
    stride = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (2, 2), (2, 1), (1, 2)]))
    padding = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    height, width = draw(st.integers(size, 12)), draw(st.integers(size, 70))
    window = Window((size, size), stride, padding)
    return draw(depthwise(Geometry(window, draw(st.sampled_from([1, 2])), height, width)))


@st.composite
def long_depthwise(draw: st.DrawFn) -> Example:
    """Kernels of one row, or of one column for images of one."""
    taps, length = draw(st.integers(4, 14)), draw(st.integers(14, 140))
    padding = draw(st.integers(0, 6))
    if draw(st.booleans()):
        window, size = Window((1, taps), padding=(0, padding)), (draw(st.integers(1, 3)), length)
    else:
        window, size = Window((taps, 1), padding=(padding, 0)), (length, 1)
    return draw(depthwise(Geometry(window, draw(st.sampled_from([1, 2])), *size)))


@batches
@given(st.lists(convolutions(), min_size=1, max_size=12))
def test_convolutions(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@batches
@given(st.lists(pixelwise(), min_size=1, max_size=12))
def test_pixelwise_convolutions(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("zero_point", [-128, 3], ids=["halves up", "halves away from zero"])
def test_few_depths(runtime: Runtime, zero_point: int) -> None:
    sizes = itertools.product((3, 8, 16, 17, 32, 33, 64, 128), (1, 2, 3, 4, 6, 9))
    pixels = itertools.cycle((1, 2, 4, 3, 5, 7, 8, 9, 13))
    runtime.check(
        *(
            few_depths(depth, count, columns, zero_point)
            for (depth, columns), count in zip(sizes, pixels, strict=False)
        )
    )


def few_depths(depth: int, pixels: int, columns: int, zero_point: int) -> Example:
    data = Numbers(pixels)
    requantize = Requantize.checked(
        [1 << 30], [-8], columns, zero_point=zero_point, minimum=-128, maximum=127
    )
    op = Conv2d(
        data.int8(columns, 1, 1, depth),
        data.biases(columns),
        Window((1, 1)),
        5,
        requantize,
        (1, 1, pixels, columns),
    )
    return single(op, data.int8(1, 1, pixels, depth))


@batches
@given(st.lists(convolutions() | pixelwise(), min_size=1, max_size=12))
def test_convolutions_on_a_cortex_m7(cortex_m7: Runtime, examples: list[Example]) -> None:
    cortex_m7.check(*examples)


def check_without_patches(runtime: Runtime, examples: list[Example]) -> None:
    """Windows are packed from where they lie with every instruction set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "packs_rows", lambda filters, isa: not filters.is_general(isa))
        for example in examples:
            (node,) = example.graph.nodes
            for isa in runtime.isas:
                (call,) = node.op.kernel_calls(node.inputs, node.outputs, isa)
                assert call.kernel.startswith("implicit_conv2d")
        runtime.check(*examples)


@batches
@given(st.lists(without_patches(), min_size=1, max_size=12))
def test_convolutions_without_patches(runtime: Runtime, examples: list[Example]) -> None:
    check_without_patches(runtime, examples)


@batches
@given(st.lists(without_patches(), min_size=1, max_size=12))
def test_convolutions_without_patches_on_a_cortex_m7(
    cortex_m7: Runtime, examples: list[Example]
) -> None:
    check_without_patches(cortex_m7, examples)


@batches
@given(st.lists(without_patches(), min_size=1, max_size=12), st.data())
def test_rows_without_patches_may_lie_in_rings(
    runtime: Runtime, examples: list[Example], data: st.DataObject
) -> None:
    check_without_patches(runtime, [in_rings(example, data) for example in examples])


def kernel_with_dsp(
    *,
    channels: int = 8,
    width: int = 8,
    batch: int = 1,
    groups: int = 1,
    side: int = 3,
    step: int = 1,
) -> str:
    window = Window((side, side), padding=(1, 1), dilation=(step, step))
    requantize = Requantize.checked([1 << 30], [-8], 4, zero_point=0, minimum=-128, maximum=127)
    shape = (batch, *window.output_size((9, width)), 4)
    weights, bias = np.ones((4, side, side, channels // groups), np.int8), np.zeros(4, np.int32)
    example = single(
        Conv2d(weights, bias, window, 0, requantize, shape, groups),
        np.zeros((batch, 9, width, channels), np.int8),
    )
    (node,) = example.graph.nodes
    (call,) = node.op.kernel_calls(node.inputs, node.outputs, Isa.DSP)
    return call.kernel


@pytest.mark.parametrize(
    "other",
    [{"channels": 6}, {"width": 7}, {"batch": 2}, {"groups": 2}, {"side": 1}, {"step": 2}],
    ids=lambda other: next(iter(other)),
)
def test_only_some_convolutions_need_no_patches(other: dict[str, int]) -> None:
    assert kernel_with_dsp() == "implicit_conv2d"
    assert kernel_with_dsp(channels=3) == "implicit_conv2d_odd"
    assert kernel_with_dsp(**other) == "conv2d"


@batches
@given(st.lists(depthwise(), min_size=1, max_size=12))
def test_depthwise_convolutions(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def _most_scratch(call: KernelCall, _: int = 0) -> list[Scratch]:
    """Each piece of scratch of a call, as large as it is of use."""
    return call_scratch(call, ARENA_LIMIT)


def check_3x3(runtime: Runtime, examples: list[Example], columns: int, roomy: bool) -> None:
    """In portions of at least so many columns, or all of them and several bands at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depthwise_schemes, "LEAST_CHUNK", columns)
        if roomy:
            patch.setattr(scratch, "call_scratch", _most_scratch)
        runtime.check(*examples)


@batches
@given(
    st.lists(depthwise_of_size(3), min_size=1, max_size=12),
    st.sampled_from([20, 20, 9, 200]),
    st.booleans(),
)
def test_3x3_depthwise_convolutions(
    runtime: Runtime, examples: list[Example], columns: int, roomy: bool
) -> None:
    check_3x3(runtime, examples, columns, roomy)


@batches
@given(
    st.lists(depthwise_of_size(3), min_size=1, max_size=12),
    st.sampled_from([20, 9, 200]),
    st.booleans(),
)
def test_3x3_depthwise_convolutions_on_a_cortex_m7(
    cortex_m7: Runtime, examples: list[Example], columns: int, roomy: bool
) -> None:
    check_3x3(cortex_m7, examples, columns, roomy)


@batches
@given(st.lists(depthwise_of_size(5), min_size=1, max_size=12))
def test_5x5_depthwise_convolutions(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@batches
@given(st.lists(long_depthwise(), min_size=1, max_size=12), st.booleans())
def test_depthwise_kernels_of_one_row_or_column(
    runtime: Runtime, examples: list[Example], roomy: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if roomy:
            patch.setattr(scratch, "call_scratch", _most_scratch)
        runtime.check(*examples)


@settings(max_examples=60)
@given(example=convolutions() | depthwise())
def test_sums_are_torchs(example: Example) -> None:
    torch = pytest.importorskip("torch")
    (node,) = example.graph.nodes
    op, (data,) = node.op, example.inputs
    assert isinstance(op, Convolution)
    if isinstance(op, Conv2d):
        weights, groups = op.weights.transpose(0, 3, 1, 2), op.groups
    else:
        weights, groups = op.weights.transpose(2, 0, 1)[:, np.newaxis], data.shape[3]
    sums = torch.nn.functional.conv2d(
        torch.from_numpy(data.astype(np.float64) - op.input_zero_point).permute(0, 3, 1, 2),
        torch.from_numpy(weights.astype(np.float64)),
        stride=op.window.stride,
        padding=op.window.padding,
        dilation=op.window.dilation,
        groups=groups,
    )
    assert np.array_equal(op.accumulate(data), sums.permute(0, 2, 3, 1).numpy())


@batches
@given(st.data())
def test_rows_may_be_computed_in_any_ranges(runtime: Runtime, data: st.DataObject) -> None:
    examples = []
    for example in data.draw(st.lists(any_convolution(), min_size=1, max_size=12)):
        (node,) = example.graph.nodes
        cuts = data.draw(st.lists(st.integers(0, node.outputs[0].shape[1]), max_size=3))
        examples.append(single(InRanges(node.op, tuple(cuts)), *example.inputs))
    runtime.check(*examples)


@batches
@given(st.data())
def test_rows_may_lie_in_rings(runtime: Runtime, data: st.DataObject) -> None:
    examples = []
    single_images = any_convolution().filter(lambda example: len(example.inputs[0]) == 1)
    for example in data.draw(st.lists(single_images, min_size=1, max_size=12)):
        examples.append(in_rings(example, data))
    runtime.check(*examples)


def in_rings(example: Example, data: st.DataObject) -> Example:
    """Some rows of a convolution, in rings."""
    (node,), (images,) = example.graph.nodes, example.inputs
    assert isinstance(node.op, Convolution)
    height = node.op.output_shape[1]
    first = data.draw(st.integers(0, height - 1))
    last = data.draw(st.integers(first + 1, height))
    op = InRings(node.op, node.op.window, images.shape[1], height, (first, last))
    return single(op, op.fill(images))


def any_convolution() -> st.SearchStrategy[Example]:
    sized = depthwise_of_size(3) | depthwise_of_size(5)
    return convolutions() | pixelwise() | depthwise() | sized | long_depthwise()


def test_neighbouring_taps_of_the_lowest_weight_do_not_overflow(runtime: Runtime) -> None:
    weights, data = np.full((1, 4, 20), -128, np.int8), np.full((1, 2, 6, 20), -128, np.int8)
    requantize = Requantize.checked([1 << 30], [-8], 20, zero_point=3, minimum=-128, maximum=127)
    bias = np.zeros(20, np.int32)
    op = DepthwiseConv2d(weights, bias, Window((1, 4)), 3, requantize, (1, 2, 3, 20))
    runtime.check(single(op, data))


def test_any_number_of_neighbouring_outputs(runtime: Runtime) -> None:
    """Rows of outputs that end anywhere in a vector, for each number of taps with a loop."""
    kernels = [(3, 1), (1, 3), (2, 2), (5, 1)]
    runtime.check(
        *(
            _over_all_of_int8(kernel, width, channels)
            for (kernel, width), channels in itertools.product(
                itertools.product(kernels, (5, 7)), range(1, 18)
            )
        )
    )


def _over_all_of_int8(kernel: tuple[int, int], width: int, channels: int) -> Example:
    data = Numbers(channels)
    geometry = Geometry(Window(kernel, padding=(kernel[0] // 2, 0)), 1, 5, width)
    requantize = Requantize.checked(
        [1 << 30], [-7], channels, zero_point=3, minimum=-128, maximum=127
    )
    op = DepthwiseConv2d(
        data.int8(*kernel, channels),
        data.biases(channels),
        geometry.window,
        5,
        requantize,
        (1, *geometry.output_size, channels),
    )
    return single(op, images(data, geometry, channels))

"""Depthwise layers with weights of four bits: every runtime, and what flash holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.streamed import streamed

from cmcompiler.ir.graph import Node
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.planner import make_plan

WINDOWS = (
    (Window((3, 3), (1, 1), (1, 1)), (1, 7, 9, 29), 1),
    (Window((3, 3), (1, 1), (1, 1)), (1, 1, 12, 33), 1),
    (Window((3, 3), (2, 2), (1, 1)), (2, 9, 8, 31), 1),
    (Window((3, 3), (2, 2), (1, 1)), (1, 4, 13, 30), 1),
    (Window((3, 3), (1, 1), (2, 1), (2, 1)), (1, 7, 2, 29), 1),
    (Window((3, 3), (1, 1), (1, 2), (1, 2)), (1, 5, 6, 29), 1),
    (Window((5, 5), (1, 1), (2, 2)), (1, 8, 8, 30), 1),
    (Window((2, 3), (1, 1), (0, 1)), (1, 5, 6, 45), 1),
    (Window((4, 1), (1, 1)), (1, 6, 5, 67), 1),
    (Window((6, 1), (1, 1)), (1, 45, 1, 29), 1),
    *(
        (Window((3, 3), (stride, stride), (1, 1)), (1, rows, 5, channels), each)
        for stride, rows in ((1, 6), (1, 1), (2, 7))
        for channels, each in ((16, 2), (11, 3))
    ),
)
"""Windows, images, filters for each channel."""

OUTPUTS = ((-128, Range(-128, 127), -7), (3, Range(-128, 127), -6), (5, Range(-90, 100), -7))
"""Zero points, ranges and shifts: rounding half up, to the right, clamped."""


def layers(random: np.random.Generator) -> Iterator[Example]:
    for window, shape, each in WINDOWS:
        channels, size = shape[3] * each, window.output_size(shape[1:3])
        multipliers = tuple(random.integers(1 << 30, 1 << 31, channels).tolist())
        weights = random.integers(-8, nibbles.LARGEST + 1, (*window.kernel, channels))
        for zero_point, limits, shift in OUTPUTS:
            shifts = tuple((shift - random.integers(0, 3, channels)).tolist())
            scales = Requantize(multipliers, shifts, zero_point, limits)
            bias = random.integers(-3000, 3000, channels).astype(np.int32)
            output = (shape[0], *size, channels)
            op = DepthwiseConv2d(weights.astype(np.int8), bias, window, -7, scales, output)
            yield single(op, random.integers(-128, 128, shape).astype(np.int8))
            lowest = replace(op, weights=np.minimum(op.weights, -7))
            yield single(lowest, random.choice(np.array([-128, 127], np.int8), shape))
        if each > 1:
            continue
        shifts = tuple((-random.integers(8, 12, channels)).tolist())
        for limits in (INT16, replace(INT16, minimum=0)):
            short = Requantize16.of(multipliers, shifts, limits, is_long=True)
            wide = bias.astype(np.int64)
            op = DepthwiseConv2d(weights.astype(np.int8), wide, window, 0, short, output)
            yield single(op, random.integers(-32768, 32768, shape).astype(np.int16))


def twice(layer: Example) -> Example:
    """A layer of as many outputs as inputs, and the same again."""
    (node,) = layer.graph.nodes
    (between,) = node.outputs
    last = replace(between, name="last")
    again = Node(node.op, (between,), (last,), "again")
    outputs = tuple(replace(port, tensor=last, name="last") for port in layer.graph.outputs)
    return replace(layer, graph=replace(layer.graph, nodes=(node, again), outputs=outputs))


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    examples = list(layers(np.random.default_rng(9)))
    kernels = {step.kernel for each in examples for step in make_plan(each.graph, Isa.MVE).steps}
    copies = ("", "row_", "stride_2_")
    assert kernels >= {f"depthwise_conv2d_3x3_{name}copies_w4" for name in copies}
    runtime.check(*examples)
    chains = [twice(example) for example in examples[:5]]
    planned = [(streamed(chain, isa)[0], chain) for chain in chains for isa in runtime.isas]
    assert all(plan.steps[0].kernel == "stream" for plan, _ in planned)
    runtime.check_plans(planned)


def test_cores_without_dsp_equal_the_reference(without_dsp: Runtime) -> None:
    without_dsp.check(*layers(np.random.default_rng(10)))


def test_pairs_of_outputs_have_prices_of_their_own() -> None:
    """Without SIMD, of 3x3; others cost what weights of eight bits do."""
    families = {
        (call.family, node.op.window.kernel == (3, 3) and node.op.window.dilation[1] == 1)
        for example in layers(np.random.default_rng(9))
        for node in example.graph.nodes
        if isinstance(node.op, DepthwiseConv2d) and not node.op.is_int16
        for call in node.op.kernel_calls(node.inputs, node.outputs, Isa.SCALAR)
        if call.kernel.endswith("_w4")
    }
    assert families == {("depthwise_conv2d_w4", True), ("depthwise_conv2d", False)}


@pytest.mark.parametrize(("isa", "saved"), [(Isa.SCALAR, 6), (Isa.DSP, 18), (Isa.MVE, 10)])
def test_flash_holds_no_more_than_half_the_weights(isa: Isa, saved: int) -> None:
    """Of 12, 24 and 20 bytes a channel that loops read."""
    window, channels, head = Window((3, 3), (1, 1), (1, 1)), 64, 32
    scales = Requantize((1 << 30,) * channels, (-7,) * channels, 0, Range(-128, 127))
    sizes = []
    for largest in (nibbles.LARGEST, 127):
        weights = np.full((3, 3, channels), largest, np.int8)
        bias = np.zeros(channels, np.int32)
        op = DepthwiseConv2d(weights, bias, window, 0, scales, (1, 8, 8, channels))
        graph = single(op, np.zeros((1, 8, 8, channels), np.int8)).graph
        sizes.append(len(make_plan(graph, isa).constants))
    assert sizes[1] - sizes[0] + head == channels * saved

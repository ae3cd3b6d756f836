"""Depthwise convolutions of one tap: every runtime against the reference, and which are such."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness.convolutions import Numbers
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window

KERNEL = "depthwise_conv2d_affine"


def scaled(
    size: tuple[int, int, int], seed: int, *, minimum: int = -128, shift: int = -6
) -> Example:
    """One factor for each channel of an image, as batch norms have."""
    data, channels = Numbers(seed), size[2]
    scales = Requantize.checked(
        [(1 << 30) + 77_777 * i for i in range(channels)],
        [shift - i % 3 for i in range(channels)],
        channels,
        zero_point=-9,
        minimum=minimum,
        maximum=127,
    )
    weights = data.int8(1, 1, channels)
    op = DepthwiseConv2d(weights, data.biases(channels), Window((1, 1)), 7, scales, (1, *size))
    return single(op, data.int8(1, *size))


def kernels(example: Example, isa: Isa) -> list[str]:
    (node,) = example.graph.nodes
    return [call.kernel for call in node.op.kernel_calls(node.inputs, node.outputs, isa)]


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    sizes = [(2, 1, 1), (3, 5, 1), (1, 2, 8), (2, 9, 12), (1, 3, 16), (3, 7, 17), (2, 4, 52)]
    runtime.check(
        *(scaled(size, 5, minimum=minimum) for size in sizes for minimum in (-128, -9)),
        scaled((1, 4, 260), 6),
    )


def test_which_instruction_sets_take_them() -> None:
    example = scaled((4, 5, 28), 3)
    assert kernels(example, Isa.MVE) == kernels(example, Isa.SCALAR) == [KERNEL]
    assert KERNEL not in kernels(example, Isa.DSP)


def test_steep_ones_are_rescaled() -> None:
    assert KERNEL not in kernels(scaled((4, 5, 28), 3, shift=2), Isa.MVE)


def test_others_stay() -> None:
    example = scaled((4, 6, 8), 3)
    (node,) = example.graph.nodes
    assert isinstance(node.op, DepthwiseConv2d)
    apart = replace(node.op, window=Window((1, 1), (1, 2)), output_shape=(1, 4, 3, 8))
    outputs = (replace(node.outputs[0], shape=(1, 4, 3, 8)),)
    calls = apart.kernel_calls(node.inputs, outputs, Isa.SCALAR)
    assert [call.kernel for call in calls] == ["depthwise_conv2d"]
    assert np.prod(node.op.weights.shape) == 8

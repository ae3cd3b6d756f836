"""Ranges that are not all of int8, as trained networks have with ReLU6, are clamped afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import TransposeConv2d

RANGES = [(-13, 127), (-128, 90), (-13, 90), (40, 127), (-128, 127)]


def examples(low: int, high: int, zero_point: int) -> Iterator[Example]:
    """One layer of every kind of loop."""
    chance = np.random.default_rng(high - low)

    def scale(channels: int) -> Requantize:
        multipliers = chance.integers(1 << 30, (1 << 31) - 1, channels).tolist()
        shifts = chance.integers(-9, -6, channels).tolist()
        return Requantize.checked(
            *(multipliers, shifts, channels),
            zero_point=zero_point,
            minimum=low,
            maximum=high,
        )

    def numbers(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
        return chance.integers(-128, 128, shape).astype(np.int8)

    def bias(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        return chance.integers(-3000, 3000, count).astype(np.int32)

    def conv(kernel: int, channels: int, count: int, groups: int = 1, size: int = 8) -> Example:
        window = Window((kernel,) * 2, padding=(kernel // 2,) * 2)
        weights = numbers(count, kernel, kernel, channels // groups)
        shape = (1, size, size, count)
        op: Op = Conv2d(weights, bias(count), window, 3, scale(count), shape, groups)
        return single(op, numbers(1, size, size, channels))

    def depthwise(kernel: int, stride: int, height: int = 9) -> Example:
        window = Window((kernel,) * 2, (stride,) * 2, (kernel // 2,) * 2)
        rows, columns = window.output_size((height, 9))
        op = DepthwiseConv2d(
            *(numbers(kernel, kernel, 6), bias(6), window, 3, scale(6), (1, rows, columns, 6))
        )
        return single(op, numbers(1, height, 9, 6))

    yield from (conv(1, 5, 7), conv(1, 40, 6), conv(3, 8, 5), conv(3, 3, 5), conv(3, 8, 8, 2))
    yield from (conv(3, 3, 5, size=7), depthwise(3, 1), depthwise(3, 2), depthwise(3, 1, height=1))
    yield from (depthwise(5, 1), depthwise(5, 2), depthwise(2, 1))
    window = Window((3, 3), (2, 2), (1, 1))
    up = TransposeConv2d(
        numbers(5, 3, 3, 4), bias(5), window, 3, scale(5), (1, 7, 7, 5), (1, 4, 4, 4)
    )
    yield single(up, numbers(1, 4, 4, 4))
    for rows in (1, 5):
        linear = Linear(numbers(9, 50), bias(9), scale(9), rows)
        yield single(linear, numbers(rows, 50))
        yield single(replace(linear, wide=True), numbers(rows, 50))
    wide = conv(3, 8, 5)
    (node,) = wide.graph.nodes
    yield single(node.op.widened, numbers(1, 8, 8, 8))


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_kernels_clamp(low: int, high: int, runtime: Runtime) -> None:
    """Negative results all become the zero point, or do not."""
    runtime.check(*examples(low, high, low), *examples(low, high, 3))


@pytest.mark.parametrize("isa", [Isa.DSP, Isa.MVE])
def test_fast_loops_take_any_range(isa: Isa) -> None:
    for example in examples(-13, 127, -13):
        (node,) = example.graph.nodes
        for call in node.op.kernel_calls(node.inputs, node.outputs, isa):
            is_slow = call.microkernel is not None and call.microkernel.name == "depthwise_s8"
            assert is_slow or call.kernel.endswith("_clamped")


def test_scalar_loops_clamp_themselves() -> None:
    kernels = {
        call.kernel
        for example in examples(-13, 127, -13)
        for node in example.graph.nodes
        for call in node.op.kernel_calls(node.inputs, node.outputs, Isa.SCALAR)
    }
    assert not any(kernel.endswith("_clamped") for kernel in kernels)


def test_all_of_int8_needs_no_clamp() -> None:
    x = Tensor("x", np.dtype(np.int8), (1, 50))
    scale = Requantize((1 << 30,) * 9, (-8,) * 9, -128, Range(-128, 127))
    op = Linear(np.ones((9, 50), np.int8), np.zeros(9, np.int32), scale, 1)
    (call,) = op.kernel_calls((x,), (Tensor("y", np.dtype(np.int8), (1, 9)),), Isa.DSP)
    assert call.kernel == "linear_vector"

"""Products with weights of four bits: every runtime against the reference, and what flash holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.planner import make_plan

WHOLE = Range(-128, 127)
ROWS = (1, 2, 3, 4, 5, 9, 16)
SIZES = (
    (256, 1),
    (16, 17),
    (17, 33),
    (31, 40),
    (32, 8),
    (33, 9),
    (63, 6),
    (128, 6),
    (130, 35),
    (511, 5),
)
"""Depths and columns."""

OUTPUTS = ((-128, WHOLE, -7), (3, WHOLE, -6), (-20, Range(-90, 100), -7), (5, WHOLE, 1))
"""Zero points, ranges and shifts: rounding half up, to the right, clamped, and in general."""


def requantize(random: np.random.Generator, columns: int, output: int) -> Requantize:
    zero_point, limits, shift = OUTPUTS[output]
    multipliers = random.integers(1 << 30, 1 << 31, columns).tolist()
    shifts = (shift - random.integers(0, 3, columns)).tolist()
    return Requantize(tuple(multipliers), tuple(shifts), zero_point, limits)


def narrow(random: np.random.Generator, *shape: int, least: int = -7) -> np.ndarray:
    """Weights from `least` on; Helium has other loops for those without -8."""
    return random.integers(least, nibbles.LARGEST + 1, shape).astype(np.int8)


TAILS = [(64 + depth, 4) for depth in range(1, 41)]
"""Every length of what loops leave over."""


WINDOWS = (
    (Window((1, 1)), (1, 4, 5, 19), 15, 1),
    (Window((1, 1), (2, 2)), (2, 5, 4, 120), 9, 1),
    (Window((3, 3), (1, 1), (1, 1)), (1, 4, 8, 8), 6, 1),
    (Window((3, 3), (2, 1), (1, 0), (1, 2)), (1, 6, 7, 5), 12, 1),
    (Window((2, 3), (1, 1), (0, 1)), (1, 4, 5, 12), 30, 3),
)


def linears(random: np.random.Generator) -> Iterator[Example]:
    for place, (depth, columns) in enumerate([*SIZES, *TAILS]):
        for more, rows in enumerate(ROWS if columns != 4 else (1, 3)):
            scales = requantize(random, columns, (place + more) % len(OUTPUTS))
            bias = random.integers(-3000, 3000, columns).astype(np.int32)
            weights = narrow(random, columns, depth, least=-7 - (place + more) % 3 // 2)
            op = Linear(weights, bias, scales, rows)
            yield single(op, random.integers(-128, 128, (rows, depth)).astype(np.int8))


def convolutions(random: np.random.Generator) -> Iterator[Example]:
    for place, (window, shape, channels, groups) in enumerate(WINDOWS):
        for output in (place % 4, (place + 1) % 4):
            weights = narrow(random, channels, *window.kernel, shape[3] // groups)
            bias = random.integers(-3000, 3000, channels).astype(np.int32)
            scales = requantize(random, channels, output)
            size = window.output_size(shape[1:3])
            op = Conv2d(weights, bias, window, -7, scales, (shape[0], *size, channels), groups)
            yield single(op, random.integers(-128, 128, shape).astype(np.int8))


def short_layers(random: np.random.Generator) -> Iterator[Example]:
    """Layers of int16 activations, with sums of 32 and of 64 bits."""

    def scales(columns: int, is_short: bool) -> Requantize16:
        multipliers = random.integers(1 << 30, 1 << 31, columns).tolist()
        shifts = (-random.integers(8, 12, columns)).tolist()
        shifts[0] = shifts[0] if is_short else 2
        return Requantize16.of(multipliers, shifts, INT16, is_long=True)

    for place, (depth, columns) in enumerate([*SIZES, (9, 29), (10, 31), (15, 18), *TAILS[:9]]):
        rows, is_short = ROWS[place % len(ROWS)], place % 3 > 0
        bias = random.integers(-30000, 30000, columns)
        weights = narrow(random, columns, depth, least=-8)
        op = Linear(weights, bias, scales(columns, is_short), rows)
        yield single(op, random.integers(-32768, 32768, (rows, depth)).astype(np.int16))
    for window, shape, channels, groups in WINDOWS:
        weights = narrow(random, channels, *window.kernel, shape[3] // groups)
        bias = random.integers(-30000, 30000, channels)
        size = (shape[0], *window.output_size(shape[1:3]), channels)
        op = Conv2d(weights, bias, window, 0, scales(channels, groups == 1), size, groups)
        yield single(op, random.integers(-32768, 32768, shape).astype(np.int16))


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    random = np.random.default_rng(4)
    runtime.check(*linears(random), *convolutions(random), *short_layers(random))


@pytest.mark.parametrize("isa", Isa)
def test_flash_holds_half_the_bytes(isa: Isa) -> None:
    """Without biases and scales: those are 12 or 16 bytes a column."""
    random, depth, columns = np.random.default_rng(5), 256, 64
    bias, scales = np.zeros(columns, np.int32), requantize(random, columns, 0)
    sizes = []
    for weights in (narrow(random, columns, depth), np.full((columns, depth), 127, np.int8)):
        op = Linear(weights, bias, scales, 4)
        sizes.append(len(make_plan(single(op, np.zeros((4, depth), np.int8)).graph, isa).constants))
    heads = sizes[1] - depth * columns
    assert (sizes[0] - heads) / (sizes[1] - heads) <= 0.52


def test_few_or_large_weights_stay_bytes() -> None:
    assert not nibbles.suits(np.full(nibbles.FEWEST - 1, 7, np.int8))
    for most in (nibbles.LEAST - 1, nibbles.LARGEST + 1, nibbles.LARGEST - 1):
        assert not nibbles.suits(np.full(nibbles.FEWEST, most, np.int8))
    for most in (nibbles.LEAST, nibbles.LARGEST):
        assert nibbles.suits(np.full(nibbles.FEWEST, most, np.int8))


def test_a_cortex_m7_equals_the_reference(cortex_m7: Runtime) -> None:
    random = np.random.default_rng(7)
    cortex_m7.check(*linears(random), *convolutions(random))


def test_cores_without_dsp_equal_the_reference(without_dsp: Runtime) -> None:
    random = np.random.default_rng(8)
    without_dsp.check(*linears(random), *convolutions(random), *short_layers(random))

"""Products with weights of four bits times factors: every runtime against the reference."""

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
from cmcompiler.ops.support.weight_groups import MOST, SIZES, WeightGroups
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.planner import make_plan

WHOLE = Range(-128, 127)
OUTPUTS = ((-128, WHOLE, -7), (3, WHOLE, -6), (-20, Range(-90, 100), -7), (5, WHOLE, 1))
"""Zero points, ranges and shifts: rounding half up, to the right, clamped, and in general."""

SIZES_OF_LAYERS = ((33, 9), (64, 17), (65, 5), (96, 4), (130, 35), (200, 33), (511, 6), (256, 18))
"""Depths and columns."""


def requantize(random: np.random.Generator, columns: int, output: int) -> Requantize:
    zero_point, limits, shift = OUTPUTS[output]
    multipliers = random.integers(1 << 30, 1 << 31, columns).tolist()
    shifts = (shift - 3 - random.integers(0, 3, columns)).tolist()
    return Requantize(tuple(multipliers), tuple(shifts), zero_point, limits)


def grouped(random: np.random.Generator, columns: int, depth: int, size: int) -> np.ndarray:
    """Weights in groups of this size, or in larger ones, if all factors of some are alike."""
    factors = random.integers(1, MOST + 1, (columns, -(-depth // size))).astype(np.int8)
    factors[0, 0], factors[-1, -1] = 1, MOST
    quotients = random.integers(-7, 8, (columns, depth)).astype(np.int8)
    quotients[:, ::size], quotients[:, 0] = 7, -7
    return quotients * np.repeat(factors, size, axis=1)[:, :depth]


def linears(random: np.random.Generator) -> Iterator[Example]:
    for place, (depth, columns) in enumerate(SIZES_OF_LAYERS):
        for more, rows in enumerate((1, 2, 3, 4, 5, 9)):
            scales = requantize(random, columns, (place + more) % len(OUTPUTS))
            size = SIZES[(place + more) % 3] if depth > 128 else 32
            bias = random.integers(-3000, 3000, columns).astype(np.int32)
            op = Linear(grouped(random, columns, depth, size), bias, scales, rows)
            assert op._filters.groups is not None
            yield single(op, random.integers(-128, 128, (rows, depth)).astype(np.int8))


def convolutions(random: np.random.Generator) -> Iterator[Example]:
    windows = (
        (Window((1, 1)), (1, 4, 5, 48), 15, 1),
        (Window((1, 1), (2, 2)), (2, 5, 4, 70), 8, 2),
        (Window((3, 3), (1, 1), (1, 1)), (1, 4, 8, 32), 6, 1),
        (Window((2, 3), (2, 1), (1, 0), (1, 2)), (1, 6, 7, 64), 12, 2),
    )
    for place, (window, shape, channels, groups) in enumerate(windows):
        for output in (place % 4, (place + 1) % 4):
            kernel = (*window.kernel, shape[3] // groups)
            weights = grouped(random, channels, int(np.prod(kernel)), 32)
            bias = random.integers(-3000, 3000, channels).astype(np.int32)
            scales = requantize(random, channels, output)
            result = (shape[0], *window.output_size(shape[1:3]), channels)
            operands = (weights.reshape(channels, *kernel), bias, window, -7, scales, result)
            op = Conv2d(*operands, groups)
            assert op._filters.groups is not None
            yield single(op, random.integers(-128, 128, shape).astype(np.int8))


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    random = np.random.default_rng(4)
    runtime.check(*linears(random), *convolutions(random))


def test_cores_without_dsp_equal_the_reference(without_dsp: Runtime) -> None:
    random = np.random.default_rng(8)
    without_dsp.check(*linears(random), *convolutions(random))


@pytest.mark.parametrize("isa", Isa)
def test_flash_holds_half_the_bytes_and_one_for_each_factor(isa: Isa) -> None:
    """Without biases and scales: those are 12 or 16 bytes a column."""
    random, depth, columns = np.random.default_rng(5), 512, 64
    bias, scales = np.zeros(columns, np.int32), requantize(random, columns, 0)
    sizes = []
    for weights in (grouped(random, columns, depth, 64), np.full((columns, depth), 127, np.int8)):
        op = Linear(weights, bias, scales, 4)
        sizes.append(len(make_plan(single(op, np.zeros((4, depth), np.int8)).graph, isa).constants))
    factors, heads = columns * depth // 64, sizes[1] - depth * columns
    assert (sizes[0] - heads - factors) / (sizes[1] - heads) <= 0.52


@pytest.mark.parametrize("size", SIZES)
def test_groups_are_recognised(size: int) -> None:
    weights = grouped(np.random.default_rng(6), 5, 300, size)
    made = WeightGroups.of(weights)
    assert made is not None and made.size == size
    each = np.repeat(made.factors, size, axis=1)[:, :300].astype(np.int8)
    assert np.array_equal(made.nibbles * each, weights)
    assert np.abs(made.nibbles).max() <= nibbles.LARGEST


def test_other_weights_are_not() -> None:
    weights = grouped(np.random.default_rng(6), 4, 128, 32)
    changed = weights.copy()
    changed[0, 0] = 127
    assert WeightGroups.of(changed) is None  # as every layer of eight bits has one
    assert WeightGroups.of(np.full((4, 128), 7, np.int8)) is None  # four bits without factors
    assert WeightGroups.of(weights[:, :32]) is None  # one group: a scale does the same
    assert WeightGroups.of(np.full((2, 64), 14, np.int8)) is None  # hardly any weights

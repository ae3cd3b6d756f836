"""Correct results on every runtime where ExecuTorch is silently wrong: docs/correctness.md.

Each test computes the result from the definition; most also compute what ExecuTorch does, to show
that the example tells them apart.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import int8_array

INT8 = 1  # torch's number of the type
ONE = (1 << 30, 1)
"""Multiplier and shift of the factor 1."""

CHANNELS_LAST = (0, 2, 3, 1)


def check(runtime: Runtime, example: Example, meaning: Array) -> None:
    """Asserts that reference and device compute the program's meaning."""
    np.testing.assert_array_equal(example.reference.outputs[0], meaning)
    runtime.check(example)


def clamped(x: Array) -> npt.NDArray[np.int8]:
    return np.clip(x, -128, 127).astype(np.int8)


def quantize(x: npt.NDArray[np.float32], scale: float, zero_point: int) -> Example:
    parameters = (scale, zero_point, -128, 127, INT8)
    return calling("cortex_m::quantize_per_tensor.out", In(x), *parameters, Out(np.int8, x.shape))


def test_quantize_rounds_the_product_before_it_rounds_to_an_integer(runtime: Runtime) -> None:
    scale, zero_point = np.float32(0.3), -5
    x = (np.arange(-128, 128) + 0.5).astype(np.float32) * scale
    inverse = np.float32(1) / scale
    fused = np.rint(x.astype(np.float64) * np.float64(inverse))
    meaning = np.rint(x * inverse)
    assert np.count_nonzero(fused != meaning) > 10
    check(runtime, quantize(x, float(scale), zero_point), clamped(meaning + zero_point))


@pytest.mark.parametrize("zero_point", [-128, 7])
def test_quantize_saturates_however_far_out_of_range(runtime: Runtime, zero_point: int) -> None:
    scale = np.float32(0.25)
    steps = np.array([100, 40_000, 65_636, 2**22 + 1, 2**31, 1e20, np.inf], np.float32)
    x = np.concatenate([steps, -steps, np.linspace(-40_000, 40_000, 41, dtype=np.float32)]) * scale
    with np.errstate(invalid="ignore"):
        wrapped = (np.rint(x / scale) + zero_point).astype(np.int64).astype(np.int16)
    meaning = clamped(np.rint(x.astype(np.float64) / scale) + zero_point)
    assert np.count_nonzero(clamped(wrapped) != meaning) > 10
    check(runtime, quantize(x, float(scale), zero_point), meaning)


@pytest.mark.parametrize("zero_point", [-128, 0, 99])
def test_nan_quantises_to_the_zero_point(runtime: Runtime, zero_point: int) -> None:
    x = np.where(np.arange(37) % 3, np.nan, 1e30).astype(np.float32)
    meaning = np.where(np.isnan(x), zero_point, 127).astype(np.int8)
    check(runtime, quantize(x, 0.1, zero_point), meaning)


def test_means_round_halves_away_from_zero(runtime: Runtime) -> None:
    zero_point, x = -3, int8_array((1, 5, 8, 9), 1)
    windows = np.stack([x[:, :, i::2, j::3] for i, j in product(range(2), range(3))])
    sums = windows.astype(np.int64).sum(0)
    meaning = (np.sign(sums) * ((np.abs(sums) + 3) // 6)).astype(np.int8)
    dialect = np.rint((windows.astype(np.float64) - zero_point).mean(0)) + zero_point
    assert 0 < np.abs(dialect - meaning).max() <= 1
    example = calling(
        "cortex_m::quantized_avg_pool2d.out",
        *(In(x, CHANNELS_LAST), (2, 3), (2, 3), (0, 0), False, zero_point, *ONE),
        *(In(np.zeros(4, np.uint8)), Out(np.int8, meaning.shape, CHANNELS_LAST)),
    )
    check(runtime, example, meaning)


@pytest.mark.parametrize(("stride", "padding"), [(2, 1), (3, 1), (3, 2), (4, 3), (2, 2)])
@pytest.mark.parametrize("channels", [3, 17])
def test_transposed_convolutions_keep_all_rows_whatever_the_padding(
    runtime: Runtime, stride: int, padding: int, channels: int
) -> None:
    kernel, height, width, zero_point = 4, 5, 3, 6
    random = np.random.default_rng(0)
    x = random.integers(-10, 10, (1, channels, height, width), np.int8)
    weights = random.integers(-1, 2, (2, kernel, kernel, channels), np.int8)
    whole = np.zeros((2, (height - 1) * stride + kernel, (width - 1) * stride + kernel), np.int64)
    centred = x[0].astype(np.int64) - zero_point
    for i, j, u, v in product(range(height), range(width), range(kernel), range(kernel)):
        whole[:, i * stride + u, j * stride + v] += weights[:, u, v] @ centred[:, i, j]
    meaning = clamped(whole[None, :, padding : -padding or None, padding : -padding or None])
    multiplier, shift = (In(np.full(2, n, np.int32), constant=True) for n in ONE)
    example = calling(
        "cortex_m::quantized_transpose_conv2d.out",
        *(In(x, CHANNELS_LAST), In(weights, constant=True), None),
        *((stride, stride), (padding, padding), (0, 0), (1, 1), -zero_point, 0),
        *(multiplier, shift, -128, 127),
        *(In(np.zeros(4, np.uint8)), In(np.zeros(4, np.uint8))),
        Out(np.int8, meaning.shape, CHANNELS_LAST),
    )
    check(runtime, example, meaning)


@pytest.mark.parametrize(("name", "choose"), [("minimum", np.minimum), ("maximum", np.maximum)])
@pytest.mark.parametrize(
    ("shape", "order"),
    [((1, 5, 1, 1), (0, 1, 2, 3)), ((1, 5, 1, 1), CHANNELS_LAST), ((2, 1, 3, 1), CHANNELS_LAST)],
)
def test_minimum_and_maximum_broadcast_logical_dimensions(
    runtime: Runtime, name: str, choose: np.ufunc, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    lhs, rhs = int8_array((2, 5, 3, 3), 1), int8_array(shape, 2)
    out = Out(np.int8, lhs.shape, order)
    example = calling(f"cortex_m::{name}.out", In(lhs, order), In(rhs, order), out)
    check(runtime, example, choose(lhs, rhs))


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_cat_joins_logical_dimensions_of_channels_last_tensors(runtime: Runtime, dim: int) -> None:
    shapes = [[2, 3, 4, 5], [2, 3, 4, 5]]
    shapes[1][dim] = 2
    parts = [int8_array(tuple(shape), seed) for seed, shape in enumerate(shapes)]
    meaning = np.concatenate(parts, dim)
    leading = math.prod(meaning.shape[:dim])
    rows = [part.transpose(CHANNELS_LAST).reshape(leading, -1) for part in parts]
    shape = [meaning.shape[axis] for axis in CHANNELS_LAST]
    as_if_contiguous = np.concatenate(rows, 1).reshape(shape).transpose(0, 3, 1, 2)
    assert np.array_equal(as_if_contiguous, meaning) == (dim == 0)
    example = calling(
        "aten::cat.out",
        *([In(part, CHANNELS_LAST) for part in parts], dim),
        Out(np.int8, meaning.shape, CHANNELS_LAST),
    )
    check(runtime, example, meaning)


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_slices_are_written_at_logical_indices_of_channels_last_tensors(
    runtime: Runtime, dim: int
) -> None:
    source = int8_array((2, 3, 4, 5), 0)
    place = (slice(None),) * dim + (slice(1, 2),)
    part = int8_array(source[place].shape, 1)
    meaning = source.copy()
    meaning[place] = part
    shape = [source.shape[axis] for axis in CHANNELS_LAST]
    as_if_contiguous = source.transpose(CHANNELS_LAST).reshape(source.shape)
    as_if_contiguous[place] = part.transpose(CHANNELS_LAST).reshape(part.shape)
    as_if_contiguous = as_if_contiguous.reshape(shape).transpose(0, 3, 1, 2)
    assert np.array_equal(as_if_contiguous, meaning) == (dim == 0)
    example = calling(
        "aten::slice_scatter.out",
        *(In(source, CHANNELS_LAST), In(part, CHANNELS_LAST), dim, 1, 2, 1),
        Out(np.int8, source.shape, CHANNELS_LAST),
    )
    check(runtime, example, meaning)


@pytest.mark.parametrize("output", [(0, 1, 2, 3), CHANNELS_LAST])
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 3, 1, 5)])
def test_products_of_operands_with_different_layouts_match_their_elements(
    runtime: Runtime, output: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    lhs, rhs = int8_array((1, 3, 4, 5), 1) // 16, int8_array(shape, 2) // 16
    meaning = clamped((lhs.astype(np.int64) - 2) * (rhs.astype(np.int64) + 3) + 4)
    example = calling(
        "cortex_m::quantized_mul.out",
        *(In(lhs, CHANNELS_LAST), 2, In(rhs), -3, 4, *ONE),
        Out(np.int8, meaning.shape, output),
    )
    check(runtime, example, meaning)


def softmax(x: In, dim: int, scale: float) -> Example:
    """With the parameters that the exporter chooses for an input's scale."""
    mantissa, exponent = math.frexp(scale * 2**26)
    least = -math.floor(31 * 2.0 ** (26 - exponent))
    parameters = (dim, 0, -128, round(mantissa * 2**31), exponent, least)
    out = Out(np.int8, x.array.shape, x.order)
    return calling("cortex_m::softmax.out", x, *parameters, out)


def probabilities(x: Array, dim: int, scale: float) -> Array:
    """In steps of 1/256 from -128; 1 saturates."""
    powers = np.exp((x.astype(np.float64) - x.max(dim, keepdims=True)) * scale)
    return np.minimum(256 * powers / powers.sum(dim, keepdims=True) - 128, 127)


@pytest.mark.parametrize("length", [511, 512, 600, 3000])
def test_softmax_of_long_rows_has_no_floor(runtime: Runtime, length: int) -> None:
    """For sums of 512 and more, CMSIS-NN returns 1/256 for what is less than half of that."""
    x, scale = np.zeros((2, length), np.int8), 0.1
    x[1, length // 2] = 90
    meaning = np.rint(probabilities(x, 1, scale)).astype(np.int8)
    assert (meaning == -128).sum() >= length - 1
    check(runtime, softmax(In(x), 1, scale), meaning)


@pytest.mark.parametrize("dim", [1, 2, 3, -1])
def test_softmax_is_over_the_logical_dimension(runtime: Runtime, dim: int) -> None:
    x, scale = int8_array((2, 5, 3, 7), 3), 0.05
    example = softmax(In(x, CHANNELS_LAST), dim, scale)
    (actual,) = example.reference.outputs
    exact = probabilities(x, dim, scale)
    assert np.abs(actual - exact).max() < 0.51
    assert np.abs(probabilities(x, 1 if dim != 1 else 3, scale) - exact).max() > 10
    runtime.check(example)

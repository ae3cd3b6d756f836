"""Log-softmax of rows: every runtime against the reference, the reference against floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, int8_array, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.log_softmax import (
    EXPONENTIAL_BITS,
    LARGEST_LOG_MULTIPLIER,
    LARGEST_MULTIPLIER,
    LONGEST,
    MOST_FRACTION_BITS,
    LogSoftmax,
)
from cmcompiler.ops.support.parameters import INT8, INT32_MAX
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.requantize16 import INT16


def exponentials(scale: float, limits: Range = INT8) -> np.ndarray:
    distances = scale * np.arange(256)
    distances = distances if limits is INT8 else np.r_[256 * distances, distances]
    return np.rint(np.exp(-distances) * 2**EXPONENTIAL_BITS).astype(np.int32)


def sized(
    scale: float,
    step: float,
    shape: tuple[int, int],
    centre: int | None,
    *,
    zero_point: int,
    limits: Range = INT8,
) -> LogSoftmax:
    factors = round(scale / step * 2**12), round(math.log(2) / step * 2**12)
    results = shape if centre is None else shape[:1]
    table = exponentials(scale, limits)
    return LogSoftmax(shape[1], table, *factors, 12, zero_point, centre, results, limits)


@st.composite
def rows_of_numbers(draw: st.DrawFn) -> Example:
    count, length = draw(st.integers(1, 4)), draw(st.integers(1, 600))
    centre = draw(st.none() | zero_points)
    limits = draw(st.sampled_from([INT8, INT16]))
    most = (LARGEST_MULTIPLIER, LARGEST_LOG_MULTIPLIER) if limits is INT8 else [INT32_MAX] * 2
    op = LogSoftmax(
        length,
        exponentials(draw(st.sampled_from([0.0, 1e-3, 0.1, 10.0])), limits),
        draw(st.sampled_from([0, most[0]]) | st.integers(0, most[0])),
        draw(st.sampled_from([0, most[1]]) | st.integers(0, 1 << 20)),
        draw(st.integers(0, MOST_FRACTION_BITS)),
        draw(zero_points),
        centre,
        (count, length) if centre is None else (count,),
        limits,
    )
    return single(op, array((count, length), limits.element.name, draw(seeds)))


@settings(max_examples=10)
@given(st.lists(rows_of_numbers(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_long_rows_on_every_runtime(runtime: Runtime) -> None:
    op = sized(1e-6, 0.1, (1, 70_000), None, zero_point=127)
    runtime.check(single(op, np.zeros((1, 70_000), np.int8)))


@given(
    scale=st.floats(1e-3, 1),
    step=st.floats(0.02, 0.5),
    length=st.integers(1, 300),
    centre=zero_points,
    seed=seeds,
    limits=st.sampled_from([INT8, INT16]),
)
def test_within_a_step_of_the_real_function(
    *, scale: float, step: float, length: int, centre: int, seed: int, limits: Range
) -> None:
    x = array((3, length), limits.element.name, seed)
    scale = scale if limits is INT8 else scale / 256
    real = (x.astype(np.float64) - centre) * scale
    largest = real.max(axis=1, keepdims=True)
    sums = largest + np.log(np.exp(real - largest).sum(axis=1, keepdims=True))
    for own, exact in ((None, real - sums), (centre, sums[:, 0])):
        (actual,) = sized(scale, step, (3, length), own, zero_point=5, limits=limits).reference(x)
        # Factors of 12 fractional bits are off by half of the last, times the distance.
        room = 0.6 if limits is INT8 else 8.6
        expected = np.clip(exact / step + 5, limits.minimum, limits.maximum)
        assert np.abs(actual - expected).max() < room


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
@pytest.mark.parametrize("dims", [(1,), (2,), (0, 2), (2, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_over_any_dimensions(
    order: tuple[int, ...], dims: tuple[int, ...], keepdim: bool
) -> None:
    x = int8_array((2, 3, 5), 1)
    kept = [size for dim, size in enumerate(x.shape) if dim not in dims]
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape)] if keepdim else kept
    table = In(exponentials(0.02), constant=True)
    given = (In(x, order), dims, keepdim, 3, table, 400, 9000, 10, -7, Out("int8", tuple(shape)))
    actual = calling("cmbuild::quantized_logsumexp.out", *given).reference.outputs[0]
    rows = np.moveaxis(x, dims, range(3 - len(dims), 3)).reshape(math.prod(kept), -1)
    op = LogSoftmax(rows.shape[1], exponentials(0.02), 400, 9000, 10, -7, 3, tuple(shape))
    assert np.array_equal(actual, op.reference(rows)[0])


@pytest.mark.parametrize(
    ("table", "shift", "out", "reason"),
    [
        (exponentials(0.1)[:9], 3, (3, 5), "exponentials are not 1×256 numbers"),
        (-exponentials(0.1), 3, (3, 5), "that begin with 2^24"),
        (np.r_[1 << 24, np.full(255, -1)], 3, (3, 5), "exponentials are out of range"),
        (exponentials(0.1), 21, (3, 5), "shift = 21 is outside 0..20"),
        (exponentials(0.1), 3, (3, 4), "[3, 5] to [3, 4]"),
    ],
)
def test_refusals(table: np.ndarray, shift: int, out: tuple[int, ...], reason: str) -> None:
    held = In(table.astype(np.int32), constant=True)
    with pytest.raises(CompilerError, match="quantized_log_softmax") as error:
        calling(
            "cmbuild::quantized_log_softmax.out",
            *(In(int8_array((3, 5), 1)), 1, held, 9, 9, shift, 0, Out("int8", out)),
        )
    assert reason in str(error.value)


def test_rows_that_are_too_long() -> None:
    held = In(exponentials(0.1), constant=True)
    x = In(np.zeros((1, LONGEST + 1), np.int8))
    with pytest.raises(CompilerError, match="rows of 1,048,577 elements"):
        calling(
            "cmbuild::quantized_logsumexp.out",
            *(x, (1,), False, 0, held, 9, 9, 3, 0, Out("int8", (1,))),
        )

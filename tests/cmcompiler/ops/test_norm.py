"""Norms of int8 numbers: every runtime against the reference, the reference against floats."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.norm import LARGEST_BIAS, LARGEST_EPSILON, LONGEST, Norm, fraction_bits

epsilons = st.sampled_from([1, LARGEST_EPSILON]) | st.integers(1, 1 << 30)
centres = st.none() | zero_points


@st.composite
def norms(draw: st.DrawFn) -> Example:
    groups, channels = draw(st.integers(1, 4)), draw(st.integers(1, 4) | st.integers(1, 40))
    pixels, images = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(seeds))
    size = groups * channels
    most = draw(st.sampled_from([2**31 - 1, 2**20, 2**10]))
    op = Norm(
        random.integers(-most, most, size, dtype=np.int32, endpoint=True),
        random.integers(-LARGEST_BIAS, LARGEST_BIAS, size, dtype=np.int32, endpoint=True),
        groups,
        pixels,
        draw(epsilons),
        draw(st.integers(0, 20)),
        draw(zero_points),
        draw(centres),
    )
    x = int8_array((images, pixels, size), draw(seeds))
    return single(op, x if draw(st.booleans()) else x // np.int8(64))


@settings(max_examples=10)
@given(st.lists(norms(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def norm_of(count: int, scale: float, *, epsilon: float = 1e-5, centre: int | None = None) -> Norm:
    """With a multiplier of 1 and no bias, from one scale to steps of 1/16."""
    ones = np.ones(count, np.int32)
    multiplier = ones * round(2.0 ** (31 - fraction_bits(count)) * 16 * 2**12)
    number = max(1, round(256 * count**2 * epsilon / scale**2))
    return Norm(multiplier, 0 * ones, 1, 1, number, 12, 3, centre)


@pytest.mark.parametrize("centre", [None, -128, 5])
def test_the_longest_groups_on_every_runtime(runtime: Runtime, centre: int | None) -> None:
    constant, extreme = np.full((1, LONGEST), -128, np.int8), int8_array((1, LONGEST), 5)
    op = norm_of(LONGEST, 0.1, centre=centre)
    runtime.check(single(op, constant), single(op, extreme))


@given(
    count=st.integers(2, 300),
    scale=st.floats(1e-4, 10),
    epsilon=st.sampled_from([1e-12, 1e-5, 1e-3]),
    centre=centres,
    seed=seeds,
)
def test_within_a_step_of_the_real_norm(
    count: int, scale: float, epsilon: float, centre: int | None, seed: int
) -> None:
    x = int8_array((4, count), seed)
    actual = norm_of(count, scale, epsilon=epsilon, centre=centre).reference(x)[0]
    real = scale * x.astype(np.float64)
    distance = real - (real.mean(axis=1, keepdims=True) if centre is None else scale * centre)
    variance = (distance**2).mean(axis=1, keepdims=True)
    # An epsilon below one of the formula's steps counts as one.
    exact = 16 * distance / np.sqrt(variance + max(epsilon, (scale / count / 16) ** 2)) + 3
    assert np.abs(actual - np.clip(exact, -128, 127)).max() < 0.51


def layer_norm(
    source: In,
    dims: list[int],
    *,
    parameters: int,
    out: Out | None = None,
    centre: int | None = None,
    epsilon: int = 40,
) -> Example:
    numbers = np.arange(parameters, dtype=np.int32)
    given: list[Given] = [
        source,
        tuple(dims),
        centre,
        In(numbers << 20, constant=True),
        In(numbers << 12, constant=True),
        epsilon,
        12,
        -7,
        out or Out("int8", source.array.shape),
    ]
    return calling("cmbuild::quantized_layer_norm.out", *given)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
@pytest.mark.parametrize("dims", [(3,), (1,), (1, 2, 3), (-2, -1)])
def test_layer_norm_of_any_dimensions(order: tuple[int, ...], dims: tuple[int, ...]) -> None:
    x = int8_array((2, 3, 4, 5), 1)
    size = prod(x.shape[dim] for dim in dims)
    actual = layer_norm(In(x, order), list(dims), parameters=size).reference.outputs[0]
    last = range(4 - len(dims), 4)
    rows = np.moveaxis(x, dims, last)
    numbers = np.arange(size, dtype=np.int32)
    (expected,) = Norm(numbers << 20, numbers << 12, 1, 1, 40, 12, -7).reference(
        rows.reshape(-1, size)
    )
    assert np.array_equal(np.moveaxis(actual, dims, last), expected.reshape(rows.shape))


@pytest.mark.parametrize("shape", [(2, 6, 3, 5), (2, 6, 7), (3, 6)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm_of_any_rank(shape: tuple[int, ...], groups: int) -> None:
    x, numbers = int8_array(shape, 1), np.arange(6, dtype=np.int32)
    constants = [In(numbers << shift, constant=True) for shift in (20, 12)]
    call = calling(
        "cmbuild::quantized_group_norm.out",
        In(x),
        groups,
        *constants,
        40,
        12,
        -7,
        Out("int8", shape),
    )
    rows = x.reshape(2 if shape[0] == 2 else 3, groups, -1)
    for group in range(groups):
        channels = numbers[group * 6 // groups : (group + 1) * 6 // groups]
        spread = np.repeat(channels, prod(shape[2:]))
        op = Norm(spread << 20, spread << 12, 1, 1, 40, 12, -7)
        actual = call.reference.outputs[0].reshape(rows.shape)[:, group]
        assert np.array_equal(actual, op.reference(rows[:, group])[0])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"parameters": 4}, "4 multipliers and 4 biases for 5"),
        ({"epsilon": 0}, "epsilon = 0 is outside 1..2305843009213693952"),
        ({"centre": 200}, "centre = 200 is outside -128..127"),
        ({"out": Out("int8", (3, 4))}, "[3, 5] to [3, 4]"),
        ({"out": Out("float32", (3, 5))}, "the output is float32, not int8"),
    ],
)
def test_refusals(options: dict[str, object], reason: str) -> None:
    arguments: dict[str, object] = {"parameters": 5, **options}
    with pytest.raises(CompilerError, match="quantized_layer_norm") as error:
        layer_norm(In(int8_array((3, 5), 1)), [1], **arguments)  # type: ignore[arg-type]
    assert reason in str(error.value)

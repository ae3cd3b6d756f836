"""Attention: every runtime against the reference, the reference against floats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.attention import (
    LARGEST_SCORE,
    LARGEST_WEIGHT,
    STEPS,
    Attention,
    reciprocal,
    weights_by_distance,
)
from cmcompiler.ops.support.empty_rows import EmptyRows

INT16 = np.iinfo(np.int16)


@st.composite
def attentions(draw: st.DrawFn) -> Example:
    matrices, group = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    batch, rows, keys = matrices * group, draw(st.integers(1, 6)), draw(st.integers(1, 40))
    depth, width = draw(st.integers(1, 20) | st.just(70)), draw(st.integers(1, 20))
    masks = [(1, 1), (1, rows), (batch, rows)]
    mask_shape = draw(st.none() | st.sampled_from(masks))
    strides = (0, 0)
    inputs = [
        int8_array(shape, draw(seeds))
        for shape in ((batch, rows, depth), (matrices, keys, depth), (matrices, keys, width))
    ]
    if mask_shape is not None:
        random = np.random.default_rng(draw(seeds))
        shape = (*mask_shape, keys)
        strides = (keys * rows if mask_shape[0] > 1 else 0, keys if mask_shape[1] > 1 else 0)
        mask = random.random(shape) < draw(st.sampled_from([0.1, 0.5]))
        if draw(st.booleans()):
            numbers = random.integers(INT16.min, INT16.max, shape, dtype=np.int16, endpoint=True)
            mask = np.where(mask, numbers, INT16.min)
        inputs.append(mask)
    # From equal weights to a single one.
    steps = draw(st.floats(0, 14))
    op = Attention(
        *(batch, group, rows, keys, depth, width, draw(st.booleans()), strides),
        *(draw(zero_points), draw(zero_points)),
        (min(round(2.0 ** (31 - steps)), LARGEST_SCORE // depth), draw(st.integers(0, 5))),
        (draw(st.integers(0, 2**31 - 1)), draw(st.integers(-15, 2))),
        draw(zero_points),
        draw(st.sampled_from(EmptyRows)),
    )
    return single(op, *inputs)


@settings(max_examples=10)
@given(st.lists(attentions(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@given(
    keys=st.integers(1, 80),
    depth=st.integers(1, 64),
    spread=st.floats(0.1, 3),
    is_causal=st.booleans(),
    seed=seeds,
)
def test_near_the_real_attention(
    keys: int, depth: int, spread: float, is_causal: bool, seed: int
) -> None:
    """A weight is of a distance that is off by one step, two roundings, at most. Means are off by
    what all weights of a row can be, and by their own rounding in two parts.
    """
    query, key, value = (int8_array((1, keys, depth), seed + i) for i in range(3))
    factor = spread / (128 * 128 * math.sqrt(depth)) * STEPS / math.log(2)
    op = Attention(
        *(1, 1, keys, keys, depth, depth, is_causal, (0, 0), 3, -5),
        *((round(factor * 2**31), 0), (2**30, 1), -5),
    )
    scores = (query.astype(float) - 3) @ key.transpose(0, 2, 1).astype(float)
    scores *= spread / (128 * 128 * math.sqrt(depth))
    if is_causal:
        scores += np.triu(np.full((keys, keys), -np.inf), 1)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    exact = weights @ value.astype(float) / weights.sum(axis=2, keepdims=True)
    step = 2 ** (1.01 / STEPS)  # the multiplier of scores is rounded, too
    least, most = (np.rint(LARGEST_WEIGHT * weights * each) for each in (1 / step, step))
    off = np.maximum(LARGEST_WEIGHT * weights - least, most - LARGEST_WEIGHT * weights)
    spans = np.abs(value[:, None] - exact[:, :, None])
    bound = 0.5 + 2**-7 + (off[..., None] * spans).sum(axis=2) / least.sum(axis=2, keepdims=True)
    assert (np.abs(op.reference(query, key, value)[0] - exact) <= bound).all()


@given(st.integers(1, 255 << 15))
def test_reciprocal(total: int) -> None:
    mantissa, shift = reciprocal(total)
    assert 0 < mantissa < 1 << 31
    assert math.ldexp(mantissa, -31 - shift) == pytest.approx(1 / total, rel=1e-5)


def test_weights_halve_every_64_steps() -> None:
    weights = weights_by_distance()
    assert weights[[0, 64, 128, 575, 576]].tolist() == [255, 128, 64, 1, 0]


def reading(
    *,
    key: tuple[int, ...] = (2, 5, 8),
    value: tuple[int, ...] = (2, 5, 6),
    mask: In | None = None,
    score: tuple[int, int] = (1 << 20, 0),
    out: tuple[int, ...] = (4, 3, 6),
    empty_rows: EmptyRows = EmptyRows.ZERO,
) -> Example:
    tensors = [In(int8_array(shape, seed)) for seed, shape in enumerate(((4, 3, 8), key, value))]
    numbers = (False, int(empty_rows), 3, -4, *score, 1 << 30, 0, 5)
    return calling("cmbuild::quantized_attention.out", *tensors, mask, *numbers, Out("int8", out))


def test_keys_shared_by_consecutive_matrices() -> None:
    example = reading()
    query, key, value = example.inputs
    for i in range(4):
        op = Attention(1, 1, 3, 5, 8, 6, False, (0, 0), 3, -4, (1 << 20, 0), (1 << 30, 0), 5)
        (expected,) = op.reference(query[i : i + 1], key[i // 2, None], value[i // 2, None])
        assert np.array_equal(example.reference.outputs[0][i], expected[0])


def test_a_row_that_sees_nothing_is_zero() -> None:
    allowed = np.ones((1, 3, 5), np.bool_)
    allowed[0, 1] = False
    for mask in (allowed, np.where(allowed, np.int16(0), np.int16(INT16.min))):
        actual = reading(mask=In(mask, constant=mask.dtype == np.int16)).reference.outputs[0]
        assert (actual[:, 1] == 5).all()
        assert np.array_equal(actual[:, ::2], reading().reference.outputs[0][:, ::2])


def test_a_row_whose_keys_are_all_far_below_zero_sees_them_all() -> None:
    allowed = np.ones((1, 3, 5), np.bool_)
    allowed[0, 1] = False
    plain, alike = reading().reference.outputs[0], reading(score=(0, 0)).reference.outputs[0]
    for empty_rows, expected in ((EmptyRows.UNMASKED, plain), (EmptyRows.EQUAL, alike)):
        example = reading(mask=In(allowed), empty_rows=empty_rows)
        actual = example.reference.outputs[0]
        assert np.array_equal(actual[:, 1], expected[:, 1])
        assert np.array_equal(actual[:, ::2], plain[:, ::2])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": (2, 5, 7)}, "queries, keys and values of (4, 3, 8), (2, 5, 7), (2, 5, 6)"),
        ({"value": (2, 4, 6)}, "queries, keys and values of (4, 3, 8), (2, 5, 8), (2, 4, 6)"),
        ({"key": (3, 5, 8), "value": (3, 5, 6)}, "4 matrices of queries for 3 of keys"),
        ({"key": (2, 0, 8), "value": (2, 0, 6)}, "0 keys, not 1 to 32,768"),
        ({"out": (4, 3, 5)}, "out is int8 (4, 3, 5), not int8 (4, 3, 6)"),
        ({"score": (1, 13)}, "scores of 8 products with multiplier 1 and 13"),
        ({"mask": In(np.zeros((1, 3, 5), np.float32))}, "a mask of float32"),
        (
            {"mask": In(np.zeros((1, 2, 5), np.bool_))},
            "a mask of [1, 2, 5] for scores of [4, 3, 5]",
        ),
        (
            {"mask": In(np.zeros((1, 1, 1), np.bool_))},
            "a mask of [1, 1, 1] for scores of [4, 3, 5]",
        ),
    ],
)
def test_refusals(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(CompilerError, match="quantized_attention") as error:
        reading(**options)
    assert reason in str(error.value)

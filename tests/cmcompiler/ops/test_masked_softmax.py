"""Masked softmax: every runtime against the reference, that against the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.softmax import MOST_FINER_BITS
from cmcompiler.ops.support.empty_rows import EmptyRows

ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0)]
SHIFT = 22
"""Of a multiplier of a half: a step of the input is 1/32."""


def softmax_of(
    x: In,
    mask: In | None,
    dim: int,
    order: tuple[int, ...] | None = None,
    further: tuple[int, EmptyRows] = (0, EmptyRows.ZERO),
) -> Example:
    """
    Args:
        further: finer bits, and what becomes of rows without any element.
    """
    scale = (1 << 30, SHIFT, -(31 << (26 - SHIFT)), *map(int, further))
    out = Out("int8", x.array.shape, order)
    return calling("cmbuild::quantized_masked_softmax.out", x, mask, dim, *scale, out)


def masks(shape: tuple[int, ...], share: float, seed: int) -> Array:
    kept: Array = np.random.default_rng(seed).random(shape) < share
    return kept


@st.composite
def masked(draw: st.DrawFn) -> Example:
    lengths = [draw(st.integers(1, most)) for most in (40, 8, 8)]
    shape = tuple(draw(st.permutations(lengths)))
    orders = [draw(st.sampled_from(ORDERS)) for _ in range(3)]
    sizes = tuple(draw(st.sampled_from([1, size])) for size in shape)
    mask = masks(sizes, draw(st.sampled_from([0.1, 0.5, 1.0])), draw(seeds))
    x = In(int8_array(shape, draw(seeds)), orders[0])
    given_mask = draw(st.sampled_from([None, In(mask, orders[1])]))
    further = draw(st.integers(0, MOST_FINER_BITS)), draw(st.sampled_from(EmptyRows))
    return softmax_of(x, given_mask, draw(st.integers(-3, 2)), orders[2], further)


@settings(max_examples=10)
@given(st.lists(masked(), min_size=1, max_size=12))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_shares_of_what_is_kept(dim: int) -> None:
    x, mask = int8_array((6, 9, 12), 1), masks((6, 9, 12), 0.7, 2)
    weights = np.where(mask, np.exp(x / 32), 0)
    totals = weights.sum(dim, keepdims=True)
    expected = np.divide(weights, totals, out=np.zeros(x.shape), where=totals > 0)
    actual = softmax_of(In(x), In(mask), dim).reference.outputs[0]
    assert np.abs((actual + 128.0) / 256 - expected).max() <= 1 / 256
    assert (actual[~mask] == -128).all()


def test_rows_without_any() -> None:
    x, mask = int8_array((3, 5), 1), np.zeros((1, 5), np.bool_)

    def found(finer_bits: int, empty_rows: EmptyRows) -> Array:
        example = softmax_of(In(x), In(mask), 1, None, (finer_bits, empty_rows))
        result: Array = example.reference.outputs[0]
        return result

    assert (found(1, EmptyRows.ZERO) == -128).all()
    assert (found(0, EmptyRows.EQUAL) == round(256 / 5) - 128).all()
    assert (found(1, EmptyRows.EQUAL) == round(512 / 5) - 128).all()
    assert (found(7, EmptyRows.EQUAL) == 127).all()
    whole = softmax_of(In(x), None, 1).reference.outputs[0]
    assert np.array_equal(found(0, EmptyRows.UNMASKED), whole)


@pytest.mark.parametrize("length", [100, 4095])
def test_finer_steps(length: int) -> None:
    x = np.random.default_rng(length).integers(-5, 5, (2, length), dtype=np.int8)
    weights = np.exp((x - 5.0) / 32)
    shares = weights / weights.sum(axis=1, keepdims=True)
    bits = min(-math.ceil(math.log2(shares.max())), MOST_FINER_BITS)
    actual = softmax_of(In(x), None, 1, None, (bits, EmptyRows.ZERO)).reference.outputs[0]
    assert np.abs((actual + 128.0) - shares * 2 ** (8 + bits)).max() < 0.52


@pytest.mark.parametrize(("length", "bits"), [(1000, 7), (4096, 3), (9000, 3)])
def test_long_rows_on_every_runtime(runtime: Runtime, length: int, bits: int) -> None:
    nearly_equal = np.random.default_rng(length).integers(-3, 3, (2, length), dtype=np.int8)
    runtime.check(softmax_of(In(nearly_equal), None, 1, None, (bits, EmptyRows.ZERO)))


def test_refusals() -> None:
    with pytest.raises(CompilerError, match=r"the mask: .* does not broadcast"):
        softmax_of(In(int8_array((3, 5), 1)), In(np.ones((2, 5), np.bool_)), 1)

"""Masked softmax: every runtime against the reference, that against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError

ORDERS = [(0, 1, 2), (0, 2, 1), (2, 1, 0)]
SHIFT = 22
"""Of a multiplier of a half: a step of the input is 1/32."""


def softmax_of(x: In, mask: In, dim: int, order: tuple[int, ...] | None = None) -> Example:
    scale = (1 << 30, SHIFT, -(31 << (26 - SHIFT)))
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
    return softmax_of(x, In(mask, orders[1]), draw(st.integers(-3, 2)), orders[2])


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
    found = softmax_of(In(x), In(mask), dim).reference.outputs[0]
    assert np.abs((found + 128.0) / 256 - expected).max() <= 1 / 256
    assert (found[~mask] == -128).all()


def test_rows_without_any_are_zero() -> None:
    x, mask = int8_array((3, 5), 1), np.zeros((1, 5), np.bool_)
    assert (softmax_of(In(x), In(mask), 1).reference.outputs[0] == -128).all()


def test_refusals() -> None:
    with pytest.raises(CompilerError, match=r"the mask: .* does not broadcast"):
        softmax_of(In(int8_array((3, 5), 1)), In(np.ones((2, 5), np.bool_)), 1)

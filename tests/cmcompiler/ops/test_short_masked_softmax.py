"""Masked softmax of int16: every runtime against the reference, that against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ops.short_softmax import LONG_REACH
from cmcompiler.ops.support.empty_rows import EmptyRows

STEP = 1 / 1024
SCALE = (round(STEP / (LONG_REACH / 65535) * (1 << 28)), 3)
"""Multiplier and shift of numbers in these steps."""

ORDERS = [(0, 1, 2), (2, 1, 0)]


def softmax_of(
    x: Array,
    mask: Array,
    dim: int = -1,
    rows: EmptyRows = EmptyRows.ZERO,
    order: tuple[int, ...] | None = None,
) -> Example:
    out = Out("int16", x.shape, order)
    name = "cmbuild::short_masked_softmax_s16.out"
    return calling(name, In(x, order), In(mask), dim, *SCALE, int(rows), out)


def scores(shape: tuple[int, ...], seed: int) -> Array:
    numbers: Array = np.random.default_rng(seed).integers(-9000, 9000, shape, dtype=np.int16)
    return numbers


@st.composite
def masked(draw: st.DrawFn) -> Example:
    shape = tuple(draw(st.permutations([draw(st.integers(1, most)) for most in (40, 6, 4)])))
    sizes = tuple(draw(st.sampled_from([1, size])) for size in shape)
    generator = np.random.default_rng(draw(seeds))
    mask = generator.random(sizes) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    x = scores(shape, draw(seeds))
    rest = draw(st.integers(-3, 2)), draw(st.sampled_from(EmptyRows))
    return softmax_of(x, mask, *rest, draw(st.sampled_from(ORDERS)))


@settings(max_examples=5)
@given(st.lists(masked(), min_size=1, max_size=12))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("dim", [0, -1])
def test_shares_of_what_is_kept(dim: int) -> None:
    x = scores((6, 9, 12), 1)
    mask = np.random.default_rng(2).random((6, 9, 12)) < 0.7
    weights = np.where(mask, np.exp(x * STEP), 0)
    totals = weights.sum(dim, keepdims=True)
    expected = np.divide(weights, totals, out=np.zeros(x.shape), where=totals > 0)
    shares = softmax_of(x, mask, dim).reference.outputs[0]
    assert np.abs(shares / 32768 - expected).max() < (8 + x.shape[dim] / 2) / 32768
    assert not shares[~mask].any()


def test_rows_without_any() -> None:
    x, nothing = scores((3, 5), 1), np.zeros((1, 5), np.bool_)
    made = {rows: softmax_of(x, nothing, 1, rows).reference.outputs[0] for rows in EmptyRows}
    whole = softmax_of(x, ~nothing, 1).reference.outputs[0]
    assert not made[EmptyRows.ZERO].any()
    assert (made[EmptyRows.EQUAL] == round(32768 / 5)).all()
    assert np.array_equal(made[EmptyRows.UNMASKED], whole)


def test_refusals() -> None:
    with pytest.raises(CompilerError, match=r"the mask: .* does not broadcast"):
        softmax_of(scores((3, 5), 1), np.ones((2, 5), np.bool_))

"""Quantised multiplication on every runtime against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import broadcasts, multipliers, rescales, zero_points
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ops.mul import SHORT_SHIFTS, Mul
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.parameters import FARTHEST, Rescale

EVERY_PAIR = Loops.over(*[Strided.dense((256, 256))] * 3)


@st.composite
def products(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    shifts = st.integers(-15, 1) | st.integers(-31, 31)
    output = draw(rescales(shifts))
    sides = [draw(zero_points | st.integers(-FARTHEST, FARTHEST)) for _ in range(2)]
    op = Mul(case.loops, case.shape, sides[0], sides[1], output)
    return single(op, case.lhs, case.rhs)


@settings(max_examples=10)
@given(st.lists(products(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@settings(max_examples=3)
@given(
    lhs=zero_points,
    rhs=zero_points | st.integers(-1000, 1000),
    output=zero_points,
    multiplier=multipliers,
)
def test_all_pairs_on_every_runtime(
    runtime: Runtime, lhs: int, rhs: int, output: int, multiplier: int
) -> None:
    numbers = [x.copy() for x in np.meshgrid(EVERY, EVERY, indexing="ij")]
    runtime.check(
        *(
            single(
                Mul(EVERY_PAIR, (256, 256), lhs, rhs, Rescale(output, multiplier, shift)), *numbers
            )
            for shift in SHORT_SHIFTS
        )
    )


@pytest.mark.parametrize("shift", SHORT_SHIFTS)
def test_ties_of_short_shifts(runtime: Runtime, shift: int) -> None:
    """A multiplier of a half makes every odd product a tie, in the first or second rounding."""
    numbers = [x.copy() for x in np.meshgrid(EVERY, EVERY, indexing="ij")]
    op = Mul(EVERY_PAIR, (256, 256), 0, 0, Rescale(0, 1 << 30, shift))
    runtime.check(single(op, *numbers))


def test_products_of_every_pair() -> None:
    numbers = np.meshgrid(EVERY, EVERY, indexing="ij")
    op = Mul(EVERY_PAIR, (256, 256), 3, -5, Rescale(7, 1 << 30, -6))
    exact = (numbers[0] - 3.0) * (numbers[1] + 5.0) / 128 + 7
    difference = op.reference(*numbers)[0] - np.clip(exact, -128, 127)
    assert np.abs(difference).max() <= 0.5 + 2**-7

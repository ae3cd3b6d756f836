"""Sums and products of int16 tensors: every runtime against the reference."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import array, broadcasts, rescales, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.isa import Isa
from cmcompiler.ops.add import Add
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.support.elementwise import dense_loops
from cmcompiler.ops.support.parameters import INT32_MAX, Rescale
from cmcompiler.ops.support.requantize import Range16
from cmcompiler.ops.support.requantize16 import INT16

factors = rescales(st.integers(-31, 31)).map(lambda each: replace(each, zero_point=0))
limits = st.just(INT16) | st.builds(Range16, st.integers(-32768, -1), st.integers(0, 32767))


@st.composite
def pairs(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    lhs, rhs = (array(each.shape, "int16", draw(seeds)) for each in (case.lhs, case.rhs))
    if draw(st.booleans()):
        op = Mul(case.loops, case.shape, 0, 0, draw(factors), draw(limits))
        return single(op, lhs, rhs)
    scales = [draw(factors) for _ in range(3)]
    for place in range(2):
        if draw(st.booleans()):
            scales[place] = replace(scales[place], multiplier=-scales[place].multiplier)
    return single(Add(case.loops, case.shape, *scales, draw(limits)), lhs, rhs)


@st.composite
def close_pairs(draw: st.DrawFn) -> Example:
    """With scales as those of an export, so that results are spread over their range."""
    example = draw(pairs())
    op, shift = example.graph.nodes[0].op, draw(st.integers(-3, 0))
    assert isinstance(op, Add | Mul)
    op = replace(op, output=replace(op.output, shift=shift - 14))
    if isinstance(op, Add):
        sides = [replace(side, shift=shift) for side in (op.lhs, op.rhs)]
        # The one of the larger scale, which exports halve.
        larger = draw(st.integers(0, 1))
        sign = draw(st.sampled_from((-1, 1)))
        sides[larger] = replace(sides[larger], multiplier=sign << 30, shift=0)
        op = replace(op, lhs=sides[0], rhs=sides[1])
    return single(op, *example.inputs)


@settings(max_examples=10)
@given(st.lists(pairs() | close_pairs(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize(
    ("lhs", "rhs", "output", "family"),
    [
        ((1 << 30, 0), (5 << 28, -3), -14, "add_s16"),
        ((-5 << 28, -1), (1 << 30, 0), -2, "add_s16"),
        ((1 << 30, 0), (-1 << 30, 0), -14, "add_s16"),
        ((-1 << 30, 0), (-5 << 28, -3), -14, "add_s16_general"),
        ((1 << 30, 0), (5 << 28, 0), -14, "add_s16_general"),
        ((1 << 30, -1), (5 << 28, -3), -14, "add_s16_general"),
        ((1 << 30, 0), (5 << 28, -3), -1, "add_s16_general"),
    ],
)
def test_sums_of_unusual_scales_have_a_price_of_their_own(
    lhs: tuple[int, int], rhs: tuple[int, int], output: int, family: str
) -> None:
    """Helium has one loop for all of them."""
    sides = (Rescale(0, *each) for each in (lhs, rhs))
    shape, numbers = (4,), np.zeros(4, np.int16)
    op = Add(dense_loops([shape, shape], shape), shape, *sides, Rescale(0, 5 << 28, output), INT16)
    (node,) = single(op, numbers, numbers).graph.nodes
    for isa in Isa:
        (call,) = op.kernel_calls(node.inputs, node.outputs, isa)
        assert call.family == ("add_s16" if isa is Isa.MVE else family)


def test_sums_of_the_largest_numbers_keep_their_bits(runtime: Runtime) -> None:
    """Of the larger scale on either side, or on both, with either sign: none may leave 32 bits."""
    ends = np.array([-32768, -32767, -16385, -1, 0, 1, 16383, 32767], np.int16)
    lhs, rhs = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
    halved, nearly, less = (
        Rescale(0, 1 << 30, 0),
        Rescale(0, INT32_MAX, -1),
        Rescale(0, 5 << 28, -7),
    )
    examples = []
    for larger, smaller in product((halved, nearly), (halved, nearly, less)):
        for signs, shift, swapped in product(product((1, -1), repeat=2), (-14, -2, -1, 0), (0, 1)):
            scales = [
                replace(scale, multiplier=sign * scale.multiplier)
                for scale, sign in zip((larger, smaller), signs, strict=True)
            ]
            output = Rescale(0, INT32_MAX, shift)
            pair = scales[::-1] if swapped else scales
            loops = dense_loops([lhs.shape, rhs.shape], lhs.shape)
            examples.append(single(Add(loops, lhs.shape, *pair, output, INT16), lhs, rhs))
    runtime.check(*examples)

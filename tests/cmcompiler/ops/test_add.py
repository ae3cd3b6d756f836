"""Quantised addition: every runtime against the reference, the shortcut against the arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime
from harness.strategies import broadcasts, int8_array, ranges, rescales
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import KernelCall
from cmcompiler.isa import Isa
from cmcompiler.ops.add import LEAST_TABLED, Add
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.parameters import FARTHEST, Rescale
from cmcompiler.ops.support.requantize import Range
from cmcompiler.plan.planner import make_plan


def rescale(scale: float, zero_point: int) -> Rescale:
    """A factor as exported: a mantissa in [2^30, 2^31) and a power of two."""
    mantissa, exponent = np.frexp(scale)
    return Rescale(zero_point, int(np.round(mantissa * 2**31)), int(exponent))


def exported(
    lhs: tuple[float, int], rhs: tuple[float, int], output: tuple[float, int]
) -> tuple[Rescale, Rescale, Rescale]:
    """The factors for (scale, zero point) of both operands and the output."""
    twice = 2 * max(lhs[0], rhs[0])
    return (
        rescale(lhs[0] / twice, lhs[1]),
        rescale(rhs[0] / twice, rhs[1]),
        rescale(twice / (output[0] * 2**20), output[1]),
    )


scales = st.floats(1e-3, 0.2)
sides = st.tuples(scales, st.integers(-128, 127))
EVERY_PAIR = Loops.over(*[Strided.dense((256, 256))] * 3)


def every_pair(scales: tuple[Rescale, Rescale, Rescale], limits: Range) -> Example:
    op = Add(EVERY_PAIR, (256, 256), *scales, limits)
    lhs, rhs = np.meshgrid(EVERY, EVERY, indexing="ij")
    return single(op, lhs.copy(), rhs.copy())


@st.composite
def exported_sums(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    factors = exported(draw(sides), draw(sides), draw(sides))
    return single(Add(case.loops, case.shape, *factors, draw(ranges())), case.lhs, case.rhs)


@st.composite
def wild_sums(draw: st.DrawFn) -> Example:
    case = draw(broadcasts())
    factors = [draw(rescales(st.integers(-31, 31))) for _ in range(3)]
    if draw(st.booleans()):
        factors[1] = replace(factors[1], zero_point=draw(st.integers(-FARTHEST, FARTHEST)))
    return single(Add(case.loops, case.shape, *factors, draw(ranges())), case.lhs, case.rhs)


@settings(max_examples=10)
@given(st.lists(exported_sums() | wild_sums(), min_size=1, max_size=40))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@settings(max_examples=5)
@given(lhs=sides, rhs=sides, output=sides, limits=ranges())
def test_all_pairs_on_every_runtime(
    runtime: Runtime,
    lhs: tuple[float, int],
    rhs: tuple[float, int],
    output: tuple[float, int],
    limits: Range,
) -> None:
    runtime.check(every_pair(exported(lhs, rhs, output), limits))


@given(lhs=sides, rhs=sides, output=sides)
def test_sums_are_within_a_step_of_the_exact_one(
    lhs: tuple[float, int], rhs: tuple[float, int], output: tuple[float, int]
) -> None:
    example = every_pair(exported(lhs, rhs, output), Range(-128, 127))
    steps = [(EVERY.astype(float) - zero_point) * scale for scale, zero_point in (lhs, rhs)]
    exact = np.add.outer(*steps) / output[0] + output[1]
    assert np.abs(example.reference.outputs[0] - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-4


@pytest.mark.parametrize("output", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("limits", [Range(-128, 127), Range(3, 127)])
def test_sums_with_ties_take_the_short_cut(output: float, limits: Range) -> None:
    example = every_pair(exported((0.05, -7), (0.05, 11), (output, 3)), limits)
    (step,) = make_plan(example.graph, Isa.MVE).steps
    assert step.kernel == "add_affine_s8"


def test_halves_go_away_from_zero() -> None:
    factors = exported((1.0, 0), (1.0, 0), (2.0, 0))
    one = Loops.over(*[Strided.dense((4,))] * 3)
    op = Add(one, (4,), *factors, Range(-128, 127))
    lhs, rhs = np.array([1, -1, 3, -3], np.int8), np.zeros(4, np.int8)
    expected = [round(Fraction(int(x), 2) + Fraction(int(np.sign(x)), 4)) for x in lhs]
    assert op.reference(lhs, rhs)[0].tolist() == expected == [1, -1, 2, -2]


SHORT = [
    ((40, 4), (4,)),
    ((40, 4), (40, 1)),
    ((90, 3), (90, 1)),
    ((17, 5, 6), (5, 6)),
    ((17, 5, 20), (17, 5, 1)),
    ((50, 1), (1, 8)),
    ((3, 40, 16), (3, 1, 16)),
    ((3, 40, 16), (1, 40, 1)),
    ((9, 32), (9, 1)),
    ((301, 4), (301, 1)),
    ((140, 8), (8,)),
]
NO_AFFINE = (
    Rescale(28, -1757032276, -1),
    Rescale(0, 1 << 30, 0),
    Rescale(-19, 1687308229, -19),
)


def test_short_loops_and_tables(runtime: Runtime) -> None:
    """Runs of one operand with a repeated one, and sums without an affine form."""
    affine = exported((0.01, 3), (0.02, -5), (0.03, 4))
    examples = []
    for lhs, rhs in SHORT:
        shape = np.broadcast_shapes(lhs, rhs)
        operands = [int8_array(lhs, 1), int8_array(rhs, 2)]
        windows = [Strided.dense(x.shape).broadcast(shape) for x in operands]
        loops = Loops.over(*windows, Strided.dense(shape))
        if loops.inner[0] == 0:
            loops = loops.swapped()
            operands.reverse()
        for factors in (affine, NO_AFFINE):
            op = Add(loops, shape, *factors, Range(-100, 127))
            examples.append(single(op, *operands))
        examples += [
            single(Mul(loops, shape, 3, -5, Rescale(1, 1 << 30, shift)), *operands)
            for shift in (-4, -15)
        ]
    kernels = {call.kernel for e in examples for call in _calls(e)}
    assert kernels == {
        f"{name}_joined" for name in ("add_affine_s8", "add_tabled_s8", "mul_right_s8", "mul_s8")
    }
    runtime.check(*examples, every_pair(NO_AFFINE, Range(-128, 127)))


def test_tables_of_any_number_of_elements(runtime: Runtime) -> None:
    examples = []
    least = [*set(LEAST_TABLED.values())]
    for count in (few + more for few in least for more in range(17)):
        loops = Loops.over(*[Strided.dense((count,))] * 3)
        op = Add(loops, (count,), *NO_AFFINE, Range(-128, 127))
        examples.append(single(op, int8_array((count,), 1), int8_array((count,), 2)))
    assert {call.kernel for e in examples for call in _calls(e)} == {"add_tabled_s8"}
    runtime.check(*examples)


def _calls(example: Example) -> Sequence[KernelCall]:
    (node,) = example.graph.nodes
    return node.op.kernel_calls(node.inputs, node.outputs, Isa.MVE)

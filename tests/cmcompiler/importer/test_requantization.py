"""Tables in place of dequantised numbers that are quantised again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from harness.examples import Example
from harness.runtime import Runtime

from cmcompiler.importer.requantization import requantize_in_integers
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.cast import Cast
from cmcompiler.ops.change_scale import ChangeScale
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize

FLOAT, INT8, INT16 = (np.dtype(name) for name in ("float32", "int8", "int16"))
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
FINE = Dequantize(0.125, -3)
COARSE = Quantize(INT8, 0.5, 7, -100, 127)
NUMBERS = np.arange(-128, 128, dtype=np.int8).reshape(2, 128)


def _graph(
    *steps: tuple[Op, np.dtype[np.generic], Sequence[int]],
    output: int = -1,
    dtype: np.dtype[np.generic] = INT8,
) -> Graph:
    last = Tensor("input_0", dtype, (2, 128))
    inputs, nodes = (Port("input_0", last, last.shape, (0, 1)),), []
    for number, (op, kind, shape) in enumerate(steps):
        made = Tensor(f"t{number}", kind, tuple(shape))
        nodes.append(Node(op, (last,), (made,), f"{op.label} #{number}"))
        last = made
    actual = nodes[output].outputs[0]
    return Graph("g", tuple(nodes), inputs, (Port("output_0", actual, actual.shape, (0, 1)),))


def _titles(graph: Graph) -> list[str]:
    """Of what the last output is computed by, the last one first."""
    titles, wanted = [], graph.outputs[0].tensor
    while wanted in graph.producer:
        node = graph.producer[wanted]
        titles.append(node.op.title)
        wanted = node.inputs[0]
    return titles


def _live(graph: Graph) -> tuple[Node, ...]:
    """The node that computes the output."""
    return (graph.producer[graph.outputs[0].tensor],)


def test_a_change_of_scale_is_a_table_of_the_same_numbers() -> None:
    before = _graph((FINE, FLOAT, (2, 128)), (COARSE, INT8, (2, 128)))
    after = requantize_in_integers(before)
    assert _titles(after) == [ChangeScale.label]
    np.testing.assert_array_equal(
        *(evaluate(graph, (NUMBERS,)).outputs[0] for graph in (before, after))
    )


def test_what_moves_in_between_moves_as_int8() -> None:
    before = _graph(
        (FINE, FLOAT, (2, 128)),
        (Transpose((1, 0)), FLOAT, (128, 2)),
        (View((4, 64)), FLOAT, (4, 64)),
        (COARSE, INT8, (4, 64)),
    )
    after = requantize_in_integers(before)
    assert _titles(after) == [ChangeScale.label, View((4, 64)).title, Transpose((1, 0)).title]
    np.testing.assert_array_equal(
        *(evaluate(graph, (NUMBERS,)).outputs[0] for graph in (before, after))
    )


def test_unsigned_bytes_as_floats_go_by_table() -> None:
    steps = (
        (Cast(FLOAT), FLOAT, (2, 128)),
        (Transpose((1, 0)), FLOAT, (128, 2)),
        (Quantize(INT8, 1.5, -128, -128, 127), INT8, (128, 2)),
    )
    before = _graph(*steps, dtype=np.dtype(np.uint8))
    after = requantize_in_integers(before)
    assert _titles(after) == [ChangeScale.label, Transpose((1, 0)).title]
    pixels = NUMBERS.view(np.uint8)
    np.testing.assert_array_equal(
        *(evaluate(graph, (pixels,)).outputs[0] for graph in (before, after))
    )


@pytest.mark.parametrize(
    ("source", "real", "target"),
    [
        (INT8, FINE, Quantize(INT16, 1 / 1024, 0, -32767, 32767)),
        (INT16, Dequantize(0.00031, 0), COARSE),
        (INT16, Cast(FLOAT), Quantize(INT8, 211.7, -11, -128, 127)),
        (INT16, Dequantize(0.0007, -5), Quantize(INT16, 0.0013, 19, -30000, 32767)),
        (INT16, Dequantize(0.5, -32768), Quantize(INT8, 131.3, -128, -128, 127)),
        (INT16, Dequantize(0.5, 32767), Quantize(INT8, 131.3, 127, -128, 127)),
        (INT8, Dequantize(0.5, -128), Quantize(INT16, 0.0041, 0, -32768, 32767)),
        (INT8, Dequantize(0.01, 70000), Quantize(INT16, 0.0371, 19000, -32768, 32767)),
        (INT32, Cast(FLOAT), Quantize(INT8, 0.73, -11, -128, 127)),
        (INT64, Cast(FLOAT), Quantize(INT8, 1 / 128, -128, -128, 127)),
        (INT64, Cast(FLOAT), Quantize(INT16, 1 / 512, 0, -32767, 32767)),
    ],
)
def test_larger_numbers_are_multiplied(
    source: np.dtype[np.generic], real: Op, target: Quantize, runtime: Runtime
) -> None:
    before = _graph((real, FLOAT, (2, 128)), (target, target.dtype, (2, 128)), dtype=source)
    after = requantize_in_integers(before)
    assert [type(node.op) for node in _live(after)] == [ChangeScale]
    far = np.linspace(np.iinfo(source).min, np.iinfo(source).max, 128).clip(-(2.0**62), 2.0**62)
    given = np.r_[np.arange(-64, 64), far.round()].astype(source).reshape(2, 128)
    np.testing.assert_array_equal(
        *(evaluate(graph, (given,)).outputs[0] for graph in (before, after))
    )
    runtime.check(Example(replace(after, nodes=_live(after)), (given,)))


@pytest.mark.parametrize(
    ("source", "target", "steps", "equal"),
    [
        (INT16, INT8, (0.0003, 0.078), 97),
        (INT8, INT16, (0.078, 0.0003), 97),
        (INT16, INT16, (0.0003, 0.0003), 0),
    ],
)
def test_all_scales_change_in_integers_and_bytes_as_floats_do(
    source: np.dtype[np.generic],
    target: np.dtype[np.generic],
    steps: tuple[float, float],
    equal: int,
) -> None:
    """Products of floats round to either side, so another multiplier than the ratio may be it."""
    random = np.random.default_rng(5)
    limits, every = np.iinfo(target), np.arange(np.iinfo(source).min, np.iinfo(source).max + 1)
    same = 0
    for _ in range(100):
        before, after = (step * random.uniform(0.5, 2) for step in steps)
        points = [
            int(random.integers(-128, 128)) if kind == INT8 else 0 for kind in (source, target)
        ]
        real = Dequantize(before, points[0])
        quantize = Quantize(target, after, points[1], limits.min, limits.max)
        op = ChangeScale.of(real, points[0], source, quantize)
        assert op is not None
        (floats,), (results,) = real.reference(every.astype(source)), op.reference(every)
        same += np.array_equal(results, *quantize.reference(floats))
        exact = np.clip((every - points[0]) * (before / after) + points[1], limits.min, limits.max)
        assert np.abs(results - exact).max() < 0.51
    assert same >= equal


@pytest.mark.parametrize("far", [70_000, -200_000, 1 << 20])
@pytest.mark.parametrize("source", [INT8, INT16])
def test_sums_of_far_zero_points_fit(source: np.dtype[np.generic], far: int) -> None:
    every = np.array([np.iinfo(source).min, np.iinfo(source).max])
    found = 0
    for points in ((far, 0), (far, far), (0, far)):
        for before, after in ((0.01, 0.037), (0.01, 1e-5), (2e-6, 1.0)):
            quantize = Quantize(INT16, after, points[1], -32768, 32767)
            op = ChangeScale.of(Dequantize(before, points[0]), points[0], source, quantize)
            if op is not None:
                found += 1
                sums = every * op.multiplier + op.constant
                assert np.abs([*sums, op.constant]).max() < 1 << 47
    assert found


@pytest.mark.parametrize(
    ("source", "real", "target"),
    [
        (INT16, Dequantize(0.5, 0), Quantize(INT8, 1.0, 0, -128, 127)),
        (INT16, Dequantize(0.00031, 0), Quantize(INT16, 0.00047, 0, -32767, 32767)),
        (INT16, Dequantize(0.00047, 0), Quantize(INT16, 0.00031, 0, -32768, 32000)),
        (INT16, Dequantize(0.0004, -300), Quantize(INT16, 0.0007, 70, 0, 32767)),
    ],
)
def test_what_no_multiplier_gives_is_the_ratio_of_scales_halves_up(
    source: np.dtype[np.generic], real: Dequantize, target: Quantize, runtime: Runtime
) -> None:
    """Of halves floats round every other down."""
    steps = (real, FLOAT, (2, 128)), (target, target.dtype, (2, 128))
    graph = requantize_in_integers(_graph(*steps, dtype=source))
    assert [type(node.op) for node in _live(graph)] == [ChangeScale]
    given = np.linspace(-32768, 32767, 256).round().astype(source).reshape(2, 128)
    given[0, :8] = range(8)
    ratio = Fraction(float(np.float32(real.scale))) * Fraction(float(target.inverse_scale))
    exact = [
        floor((int(each) - real.zero_point) * ratio + Fraction(1, 2)) + target.zero_point
        for each in given.ravel()
    ]
    (results,) = evaluate(graph, (given,)).outputs
    np.testing.assert_array_equal(results.ravel(), np.clip(exact, target.minimum, target.maximum))
    runtime.check(Example(replace(graph, nodes=_live(graph)), (given,)))


def test_tensorflow_lites_floats_stay_where_no_multiplier_gives_the_same() -> None:
    steps = (
        (Dequantize(0.00035, 0), FLOAT, (2, 128)),
        (Quantize(INT16, 0.0003, 0, -32768, 32767, is_divided=True), INT16, (2, 128)),
    )
    graph = requantize_in_integers(_graph(*steps, dtype=INT16))
    assert _titles(graph) == ["quantize", "dequantize"]


def test_wide_integers_that_int16_would_cut_stay_float_in_between() -> None:
    steps = (Cast(FLOAT), FLOAT, (2, 128)), (Quantize(INT8, 300, 0, -128, 127), INT8, (2, 128))
    graph = requantize_in_integers(_graph(*steps, dtype=INT64))
    assert _titles(graph) == ["quantize", "cast"]


def test_a_dequantize_that_is_read_otherwise_stays() -> None:
    steps = (FINE, FLOAT, (2, 128)), (COARSE, INT8, (2, 128))
    assert _titles(requantize_in_integers(_graph(*steps, output=0))) == ["dequantize"]

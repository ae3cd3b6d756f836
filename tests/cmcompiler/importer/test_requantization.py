"""Tables in place of dequantised numbers that are quantised again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    ("source", "target", "steps"),
    [
        (INT16, INT8, (0.0003, 0.078)),
        (INT8, INT16, (0.078, 0.0003)),
    ],
)
def test_all_but_few_scales_have_a_multiplier(
    source: np.dtype[np.generic], target: np.dtype[np.generic], steps: tuple[float, float]
) -> None:
    """Products of floats round to either side, so another multiplier than the ratio may be it."""
    random = np.random.default_rng(5)
    limits, every = np.iinfo(target), np.arange(np.iinfo(source).min, np.iinfo(source).max + 1)
    without = 0
    for _ in range(100):
        before, after = (step * random.uniform(0.5, 2) for step in steps)
        points = [
            int(random.integers(-128, 128)) if kind == INT8 else 0 for kind in (source, target)
        ]
        real = Dequantize(before, points[0])
        quantize = Quantize(target, after, points[1], limits.min, limits.max)
        op = ChangeScale.equal_to(real, points[0], source, quantize)
        without += op is None
        if op is not None:
            (floats,) = real.reference(every.astype(source))
            np.testing.assert_array_equal(
                op.reference(every.astype(source)), quantize.reference(floats)
            )
    assert without <= 3


@pytest.mark.parametrize("far", [70_000, -200_000, 1 << 20])
@pytest.mark.parametrize("source", [INT8, INT16])
def test_sums_of_far_zero_points_fit(source: np.dtype[np.generic], far: int) -> None:
    every = np.array([np.iinfo(source).min, np.iinfo(source).max])
    found = 0
    for points in ((far, 0), (far, far), (0, far)):
        for before, after in ((0.01, 0.037), (0.01, 1e-5), (2e-6, 1.0)):
            quantize = Quantize(INT16, after, points[1], -32768, 32767)
            op = ChangeScale.equal_to(Dequantize(before, points[0]), points[0], source, quantize)
            if op is not None:
                found += 1
                sums = every * op.multiplier + op.constant
                assert np.abs([*sums, op.constant]).max() < 1 << 47
    assert found


def test_what_no_multiplier_gives_stays_float_in_between() -> None:
    """Of halves every other is rounded down."""
    steps = (
        (Dequantize(0.5, 0), FLOAT, (2, 128)),
        (Quantize(INT8, 1.0, 0, -128, 127), INT8, (2, 128)),
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

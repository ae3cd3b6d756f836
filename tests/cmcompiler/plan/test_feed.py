"""Inputs whose rows come from outside."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from harness.image_graphs import two_pools
from harness.programs import program_graph

from cmcompiler.errors import Unsupported
from cmcompiler.importer.boundary import take_uint8
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

INT8 = np.dtype(np.int8)


def pooled(shape: tuple[int, ...], dim_order: tuple[int, ...], op: Op) -> Graph:
    """A pool of an image [1, 6, 5, 3] that an op makes from the input."""
    source = Tensor("x", INT8, tuple(shape[dim] for dim in dim_order))
    image, result = Tensor("image", INT8, (1, 6, 5, 3)), Tensor("y", INT8, (1, 5, 4, 3))
    pool = MaxPool2d(Window((2, 2)), result.shape, Range(-128, 127))
    nodes = (Node(op, (source,), (image,), "op"), Node(pool, (image,), (result,), "pool"))
    ports = (Port("x", source, shape, dim_order), Port("y", result, result.shape, (0, 1, 2, 3)))
    return Graph("g", nodes, ports[:1], ports[1:])


def test_a_movement_goes_before_the_table_of_unsigned_bytes() -> None:
    graph = take_uint8(pooled((1, 3, 6, 5), (0, 1, 2, 3), Transpose((0, 2, 3, 1))))
    fed = feed_rows(graph)
    assert [node.op.label for node in fed.nodes] == ["feed", "activation", "max_pool2d"]
    assert (fed.inputs[0].layout, fed.inputs[0].tensor.dtype) == ("channels-last", np.uint8)
    sample = np.random.default_rng(1).integers(0, 256, (1, 3, 6, 5), np.uint8)
    (actual,) = evaluate(fed, (sample,)).outputs
    np.testing.assert_array_equal(actual, *evaluate(graph, (sample,)).outputs)


@pytest.mark.parametrize(
    ("graph", "layout"),
    [
        (pooled((1, 3, 6, 5), (0, 1, 2, 3), Transpose((0, 2, 3, 1))), "channels-last"),
        (pooled((6, 5, 3), (0, 1, 2), View((1, 6, 5, 3))), "contiguous"),
    ],
    ids=["transpose", "view"],
)
def test_a_movement_before_the_first_op_is_left_out(graph: Graph, layout: str) -> None:
    fed = feed_rows(graph)
    assert [node.op.label for node in fed.nodes] == ["feed", "max_pool2d"]
    (port,) = fed.inputs
    assert (port.fed, port.layout) == (True, layout)
    sample = np.random.default_rng(1).integers(-128, 128, port.shape, np.int8)
    (actual,) = evaluate(fed, (sample,)).outputs
    np.testing.assert_array_equal(actual, *evaluate(graph, (sample,)).outputs)


def test_memory_never_holds_the_input() -> None:
    graph = feed_rows(program_graph("network"))
    plan = make_plan(graph, Isa.SCALAR, PlanOptions(surcharge=float("inf")))
    assert graph.inputs[0].tensor not in plan.places
    (image,) = graph.nodes[0].outputs
    (fence,) = plan.steps[1].fences
    assert fence.ref == plan.places[image] and fence.ring < fence.height


def test_rows_are_chosen_where_they_save_memory() -> None:
    image, row = program_graph("network"), program_graph("two_inputs")
    assert not any(port.fed for port in make_plan(row, Isa.SCALAR, PlanOptions(feed=None)).inputs)
    ways = [PlanOptions(feed=feed, surcharge=inf) for feed in ("whole", "rows", None)]
    plans = [make_plan(image, Isa.SCALAR, way) for way in ways]
    assert plans[2].arena_bytes == min(plan.arena_bytes for plan in plans[:2])


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (program_graph("two_inputs"), "input_0 is float32 "),
        (two_pools().graph, "x is an output too"),
    ],
    ids=["no image", "output"],
)
def test_the_reason_against_rows_is_one_line(graph: Graph, reason: str) -> None:
    with pytest.raises(Unsupported) as caught:
        feed_rows(graph)
    assert caught.value.message.startswith(f"--feed rows is not possible: {reason}")

"""Outputs whose rows go outside."""

from __future__ import annotations

import numpy as np
import pytest
from harness.image_graphs import two_pools
from harness.programs import program_graph

from cmcompiler.ir.arithmetic import Arithmetic, arithmetics
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.op import DRAIN
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.drain import drain_rows
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

INT8 = np.dtype(np.int8)


def moved(with_table: bool) -> Graph:
    """A pool whose result has its channels first in the end, perhaps after a table."""
    source, image = Tensor("x", INT8, (1, 6, 5, 3)), Tensor("image", INT8, (1, 5, 4, 3))
    first, result = Tensor("first", INT8, (1, 3, 5, 4)), Tensor("y", INT8, (1, 3, 5, 4))
    pool = MaxPool2d(Window((2, 2)), image.shape, Range(-128, 127))
    table = Activation(np.arange(-128, 128, dtype=np.int8)[::-1].tobytes())
    nodes = [
        Node(pool, (source,), (image,), "pool"),
        Node(Transpose((0, 3, 1, 2)), (image,), (first if with_table else result,), "move"),
    ]
    if with_table:
        nodes.append(Node(table, (first,), (result,), "table"))
    ports = (
        Port("x", source, (1, 3, 6, 5), (0, 2, 3, 1)),
        Port("y", result, result.shape, (0, 1, 2, 3)),
    )
    return Graph("g", tuple(nodes), ports[:1], ports[1:])


@pytest.mark.parametrize("with_table", [False, True])
def test_a_movement_after_the_last_op_is_left_out(with_table: bool) -> None:
    graph = moved(with_table)
    drained = drain_rows(graph)
    labels = ["max_pool2d", "activation", DRAIN] if with_table else ["max_pool2d", DRAIN]
    assert [node.op.label for node in drained.nodes] == labels
    (port,) = drained.outputs
    assert (port.fed, port.layout) == (True, "channels-last")
    sample = np.random.default_rng(1).integers(-128, 128, graph.inputs[0].shape, np.int8)
    (actual,) = evaluate(drained, (sample,)).outputs
    np.testing.assert_array_equal(actual, *evaluate(graph, (sample,)).outputs)


def test_outputs_that_are_no_image_or_used_elsewhere_stay_whole() -> None:
    for graph in (program_graph("network"), program_graph("outputs"), two_pools().graph):
        drained = drain_rows(graph)
        kept = [port for port in drained.outputs if not port.fed]
        assert kept and all(port in graph.outputs for port in kept)


@pytest.mark.parametrize("isa", Isa)
def test_memory_never_holds_the_output(isa: Isa) -> None:
    graph = drain_rows(feed_rows(program_graph("image")))
    plan = make_plan(graph, isa, PlanOptions(surcharge=float("inf")))
    (port,) = plan.outputs
    assert port.fed and port.tensor not in plan.places
    (drain,) = (step for step in plan.steps if step.kernel == DRAIN)
    assert all(fence.ring < fence.height for fence in drain.fences)
    assert Arithmetic.FLOAT not in arithmetics(graph)

"""Sequences as columns of pixels: the same bits, and windows that slide down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness.convolutions import Numbers
from harness.sequences import sequence_graph

from cmcompiler.importer.sequences import rows_of_steps
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan


def test_every_op_gives_the_same_bits_with_steps_as_rows() -> None:
    graph = sequence_graph()
    turned = replace(graph, nodes=tuple(rows_of_steps(graph.nodes)))
    computed = [node for node in turned.nodes if node.op.view_of is None]
    assert [node.op.label for node in computed] == [node.op.label for node in graph.nodes]
    assert all(node.outputs[0].shape[2] == 1 for node in computed)
    assert [node.op.turned for node in computed] != [None] * len(computed)
    sample = Numbers(2).int8(*graph.inputs[0].shape)
    (actual,), (expected,) = (evaluate(each, (sample,)).outputs for each in (turned, graph))
    np.testing.assert_array_equal(actual, expected)


def test_other_images_stay_as_they_are() -> None:
    nodes = [node for node in sequence_graph().nodes if node.op.label == "minimum"]
    assert nodes and rows_of_steps(nodes) == nodes


def test_steps_of_a_program_are_fed_one_by_one() -> None:
    """From torch's layout, channels first: a view, then a transpose."""
    inner = sequence_graph()
    image = inner.inputs[0].tensor
    _, _, length, channels = image.shape
    source = Tensor("x", image.dtype, (1, channels, length))
    high = Tensor("high", image.dtype, (1, channels, 1, length))
    before = (
        Node(View(high.shape), (source,), (high,), "view"),
        Node(Transpose((0, 2, 3, 1)), (high,), (image,), "transpose"),
    )
    port = Port("x", source, source.shape, (0, 1, 2))
    nodes = rows_of_steps((*before, *inner.nodes))
    read = {tensor for node in nodes for tensor in node.reads} | {inner.outputs[0].tensor}
    nodes = [node for node in nodes if node.outputs[0] in read]
    graph = Graph("sequence", tuple(nodes), (port,), inner.outputs)
    fed = feed_rows(graph)
    assert fed.inputs[0].tensor.shape == (1, length, channels)
    assert fed.inputs[0].dim_order == (0, 2, 1)
    sample = Numbers(3).int8(*source.shape)
    (actual,), (expected,) = (evaluate(each, (sample,)).outputs for each in (fed, graph))
    np.testing.assert_array_equal(actual, expected)
    plan = make_plan(graph, Isa.MVE, PlanOptions(feed="rows"))
    assert plan.inputs[0].fed and plan.steps[1].rows == (0, length)

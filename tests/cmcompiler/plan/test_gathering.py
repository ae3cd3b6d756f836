"""Convolutions that read some channels of their image read a copy of those, if that is worth it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from harness.prunable_graphs import PrunableGraph, with_all_gathered

from cmcompiler.importer.pruning import pruned
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.curve import ram_curve
from cmcompiler.plan.drafting import make_draft
from cmcompiler.plan.gathering import gathered
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

SEEDS = range(30)
SHAPE = (1, 16, 16, 16)
INT8 = np.dtype(np.int8)
BUDGETED = PlanOptions(streams=False)


def network(unread: list[int]) -> Graph:
    """Two convolutions, one after the other, that do not read some channels."""
    tensors = [Tensor(f"tensor_{index}", INT8, SHAPE) for index in range(3)]
    nodes = []
    for index, (source, output) in enumerate(pairwise(tensors)):
        weights = np.random.default_rng(index).integers(1, 9, (16, 3, 3, 16)).astype(np.int8)
        weights[..., unread] = 0
        scale = Requantize.checked(
            [1 << 30] * 16, [-7] * 16, 16, zero_point=0, minimum=-128, maximum=127
        )
        bias, window = np.zeros(16, np.int32), Window((3, 3), padding=(1, 1))
        op = Conv2d(weights, bias, window, 0, scale, SHAPE)
        nodes.append(Node(op, (source,), (output,), f"conv #{index}"))
    ports = [
        Port(f"port_{index}", tensor, SHAPE, (0, 1, 2, 3)) for index, tensor in enumerate(tensors)
    ]
    return Graph("forward", tuple(nodes), (ports[0],), (ports[1], ports[2]))


@pytest.mark.parametrize(
    ("unread", "depth", "copies"),
    [
        ([12, 13, 14, 15], 12, 1),
        ([0, 1, 8, 9], 12, 2),
        ([0, 1, 2, 3, 9], 12, 1),
        ([1, 2, 3], 16, 0),
        ([], 16, 0),
    ],
)
def test_a_whole_number_of_words_is_read(unread: list[int], depth: int, copies: int) -> None:
    graph = network(unread)
    made = gathered(graph)
    convolutions = [node.op for node in made.nodes if isinstance(node.op, Conv2d)]
    assert [op.weights.shape[3] for op in convolutions] == [depth] * 2
    assert len(made.nodes) == 2 + 2 * bool(copies)
    if not copies:
        assert made is graph
        return
    assert len(make_plan(made, Isa.DSP, BUDGETED).steps) == 2 + 2 * copies
    sample = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    for one, other in zip(
        *(evaluate(each, [sample]).outputs for each in (graph, made)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert gathered(made) is made


def test_a_copy_of_much_for_little_is_not_made() -> None:
    graph = network([15, 3, 7, 11])
    first = graph.nodes[0]
    assert isinstance(first.op, Conv2d)
    few = replace(first.op, weights=first.op.weights[:, :1, :1], window=Window((1, 1)))
    assert gathered(replace(graph, nodes=(replace(first, op=few),))).pruning is None


def test_a_budget_chooses() -> None:
    """The faster of both where it fits, and the smaller one below; work is counted in full."""
    graph = network([12, 13, 14, 15])
    plain, copied = (make_plan(graph, Isa.DSP, BUDGETED) for graph in (_ungathered(graph), graph))
    assert plain.macs == copied.whole_macs == 2 * 16 * 16 * 16 * 144
    most = make_draft(gathered(graph), Isa.DSP, BUDGETED).size + SLACK
    roomy, tight = (
        make_plan(graph, Isa.DSP, replace(BUDGETED, budget=budget))
        for budget in (most, plain.arena_bytes)
    )
    assert roomy.macs == plain.macs * 3 // 4
    assert tight.macs == plain.macs
    points = ram_curve(graph, Isa.DSP, PlanOptions()).points
    assert points[0].plan.macs == roomy.macs
    sizes = [point.plan.arena_bytes for point in points]
    assert sizes == sorted(sizes, reverse=True)


def test_outputs_of_random_graphs_stay() -> None:
    changed = 0
    for seed in SEEDS:
        made = PrunableGraph(seed)
        graph = pruned(made.made())
        less = with_all_gathered(graph)
        changed += less is not graph
        sample = [made.inputs()]
        both = (evaluate(each, sample).outputs for each in (graph.whole, less))
        for one, other in zip(*both, strict=True):
            np.testing.assert_array_equal(one, other, f"seed {seed}")
    assert changed >= len(SEEDS) // 6


def _ungathered(graph: Graph) -> Graph:
    """The same without a choice."""
    return replace(graph, pruning=replace(graph.before, is_gathered=True))

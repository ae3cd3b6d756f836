"""Channels that change no output are removed, and nothing else changes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness.prunable_graphs import PrunableGraph
from harness.tflite_truth import truth

from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.importer.pruning import MOST_CHANNELS, pruned
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate, evaluate_all
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.add import Add
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.softmax import Softmax
from cmcompiler.ops.support.elementwise import dense_loops
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.product_channels import WeightedSums
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.drafting import PRICED
from cmcompiler.plan.planner import make_plan

SEEDS = 60
"""Random graphs of the short test."""

INT8 = np.dtype(np.int8)
SHAPE = (1, 4, 4, 4)


def differing(seeds: range) -> list[int]:
    """The random graphs whose outputs change."""
    collected = []
    for seed in seeds:
        made = PrunableGraph(seed)
        graph = made.made()
        least = pruned(graph)
        samples = [[made.inputs()] for _ in range(3)]
        wanted, got = (
            [result.outputs for result in evaluate_all(each, samples)] for each in (graph, least)
        )
        same = (
            np.array_equal(one, other)
            for outputs in zip(wanted, got, strict=True)
            for one, other in zip(*outputs, strict=True)
        )
        if not all(same):
            collected.append(seed)
    return collected


def test_random_graphs_give_the_same_outputs() -> None:
    assert differing(range(SEEDS)) == []


@pytest.mark.long
def test_many_random_graphs_give_the_same_outputs() -> None:
    assert differing(range(SEEDS, 4000)) == []


def test_random_graphs_lose_work() -> None:
    graphs = [PrunableGraph(seed).made() for seed in range(20)]
    before, after = (
        sum(node.op.macs for graph in each for node in graph.nodes)
        for each in (graphs, map(pruned, graphs))
    )
    assert after < 0.7 * before


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("held", lambda self, inputs: inputs.constant),
        ("centred", lambda self, inputs: (inputs.least - self.zero_point,) * 2),
    ],
    ids=["constants beside padding in a bias", "one end of an interval"],
)
def test_a_wrong_rule_is_seen(
    name: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WeightedSums, name, wrong)
    assert len(differing(range(SEEDS))) > 2


def conv(
    weights: npt.NDArray[np.int8], bias: list[int], kernel: int = 1, zero_point: int = -128
) -> Conv2d:
    """A convolution with ReLU that keeps rows and columns."""
    filters = np.broadcast_to(weights[:, None, None], (len(weights), kernel, kernel, 4))
    scale = Requantize.checked(
        *([1 << 30] * len(weights), [-6] * len(weights), len(weights)),
        zero_point=-128,
        minimum=-128,
        maximum=127,
    )
    window = Window((kernel,) * 2, padding=(kernel // 2,) * 2)
    shape = (*SHAPE[:3], len(weights))
    return Conv2d(filters.copy(), np.array(bias, np.int32), window, zero_point, scale, shape)


def chain(*ops: Op) -> Graph:
    """Ops one after the other, over images of four channels."""
    tensors = [Tensor(f"tensor_{index}", INT8, SHAPE) for index in range(len(ops) + 1)]
    nodes = tuple(
        Node(op, (before,), (after,), f"{op.label} #{index}")
        for index, (op, before, after) in enumerate(zip(ops, tensors, tensors[1:], strict=False))
    )
    return Graph("forward", nodes, (port(tensors[0]),), (port(tensors[-1]),))


def port(tensor: Tensor) -> Port:
    return Port(tensor.name, tensor, tensor.shape, (0, 1, 2, 3))


FULL = np.arange(1, 17, dtype=np.int8).reshape(4, 4)
LAST_DEAD = FULL.copy()
LAST_DEAD[3] = 0
"""Filters of which the last is zero."""


def widths(graph: Graph) -> list[int]:
    """Channels of each node's output."""
    return [node.outputs[0].shape[-1] for node in pruned(graph).nodes]


def depthwise(taps: int = 1) -> DepthwiseConv2d:
    wide = conv(FULL, [5, 6, 7, 8], taps)
    shape = (taps, taps, 4)
    return DepthwiseConv2d(
        np.full(shape, 100, np.int8), wide.bias, wide.window, -128, wide.requantize, SHAPE
    )


def test_a_dead_channel_goes_into_the_next_bias() -> None:
    graph = chain(conv(LAST_DEAD, [0, 0, 0, 640]), conv(FULL, [1, 2, 3, 4]))
    assert widths(graph) == [3, 4]
    second = pruned(graph).nodes[1].op
    assert isinstance(second, Conv2d)
    # 640 is 5 above the zero point, which three more taps multiply.
    assert second.bias.tolist() == [1 + 4 * 5, 2 + 8 * 5, 3 + 12 * 5, 4 + 16 * 5]


@pytest.mark.parametrize(("bias", "left"), [(0, 3), (640, 4)])
def test_beside_padding_only_zeros_go(bias: int, left: int) -> None:
    graph = chain(conv(LAST_DEAD, [0, 0, 0, bias]), conv(FULL, [1, 2, 3, 4], kernel=3))
    assert widths(graph) == [left, 4]


def test_a_clamp_makes_a_channel_constant() -> None:
    graph = chain(conv(FULL, [0, 0, 1 << 28, -(1 << 28)]), conv(FULL, [1, 2, 3, 4]))
    assert widths(graph) == [2, 4]


def test_what_only_zero_weights_read_is_not_computed() -> None:
    unread = FULL.copy()
    unread[:, 1] = 0
    assert widths(chain(conv(FULL, [0] * 4), depthwise(), conv(unread, [0] * 4))) == [3, 3, 4]


def test_constants_pass_depthwise_layers_and_tables() -> None:
    table = Activation(np.arange(-128, 128).astype(np.int8).tobytes())
    graph = chain(conv(LAST_DEAD, [0, 0, 0, 640]), table, depthwise(), conv(FULL, [0] * 4))
    assert widths(graph) == [3, 3, 3, 4]


def test_channels_beyond_any_network_stay() -> None:
    """What the analysis takes grows with them, whatever a program says."""
    table = Activation(bytes(256))
    tensors = [Tensor(f"tensor_{index}", INT8, (MOST_CHANNELS // 2 + 1,)) for index in range(2)]
    node = Node(table, (tensors[0],), (tensors[1],), "activation #0")
    graph = Graph("forward", (node,), (), ())
    tracemalloc.start()
    assert pruned(graph) is graph
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


def test_where_a_window_hangs_over_a_constant_is_none() -> None:
    graph = chain(conv(LAST_DEAD, [0, 0, 0, 640]), depthwise(3), conv(FULL, [0] * 4))
    assert widths(graph) == [4, 4, 4]


def test_ops_without_a_rule_keep_all() -> None:
    graph = chain(conv(LAST_DEAD, [0] * 4), Softmax(1 << 30, 5, -200), conv(FULL, [0] * 4))
    assert pruned(graph) is graph


def test_ports_keep_all() -> None:
    graph = chain(conv(LAST_DEAD, [0] * 4), conv(FULL, [0] * 4))
    seen = replace(graph, outputs=(*graph.outputs, port(graph.nodes[0].outputs[0])))
    assert pruned(seen) is seen
    assert pruned(chain(conv(LAST_DEAD, [0] * 4))).whole is not None


def test_an_addition_keeps_what_is_constant_on_one_side() -> None:
    graph = chain(conv(LAST_DEAD, [0] * 4), conv(FULL, [0] * 4), conv(FULL, [0] * 4))
    first, second, third = graph.nodes
    total = Tensor("sum", INT8, SHAPE)
    scale, last = Rescale(-128, 1 << 30, -1), Rescale(-128, 1 << 30, -17)
    add = Add(dense_loops([SHAPE, SHAPE], SHAPE), SHAPE, scale, scale, last, Range(-128, 127))
    both = (first.outputs[0], second.outputs[0])
    nodes = (first, second, Node(add, both, (total,), "add"), replace(third, inputs=(total,)))
    assert widths(replace(graph, nodes=nodes)) == [4, 4, 4, 4]
    dead = replace(second, op=conv(LAST_DEAD, [0] * 4))
    assert widths(replace(graph, nodes=(first, dead, *nodes[2:]))) == [3, 3, 3, 4]


def test_plans_count_work_before_and_after() -> None:
    graph = chain(conv(LAST_DEAD, [0, 0, 0, 640]), conv(FULL, [1, 2, 3, 4]))
    plan = make_plan(pruned(graph), Isa.SCALAR)
    assert (plan.macs, plan.whole_macs) == (2 * 16 * 12, 2 * 16 * 16)
    assert [(step.live_channels, step.channels) for step in plan.steps] == [(3, 4), (4, 4)]


def test_the_trained_network_for_visual_wake_words() -> None:
    """Half of its work, a fourth of its weights, and the bytes of TensorFlow Lite Micro."""
    known = truth("vww")
    graph = build_graph(parse(known.path.read_bytes(), known.path.suffix))
    least = pruned(graph)
    assert sum(node.op.macs for node in graph.nodes) == 7_489_664
    assert sum(node.op.macs for node in least.nodes) == 3_727_313
    sample = [known.inputs[0].reshape(graph.inputs[0].shape)]
    (output,) = evaluate(least, sample).outputs
    for outputs in known.outputs.values():
        np.testing.assert_array_equal(output.ravel(), outputs[0])
    arenas = {isa: make_plan(least, isa).arena_bytes for isa in (Isa.DSP, Isa.MVE)}
    wholes = {isa: make_plan(graph, isa).arena_bytes for isa in arenas}
    # A little of the arena is given for speed.
    assert all(arenas[isa] <= wholes[isa] * max(PRICED) for isa in arenas)

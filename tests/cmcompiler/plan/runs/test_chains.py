"""Which operators may be a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness.convolutions import Numbers
from harness.examples import Example
from harness.run_graphs import Tiles, bottlenecks, in_runs, run_graphs, tile_sizes, without_overlaps
from hypothesis import given, settings

from cmcompiler.ir.graph import Node
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.runs.chains import chains
from cmcompiler.plan.runs.run import Run


@settings(max_examples=15)
@given(run_graphs(), tile_sizes)
def test_runs_compute_what_their_operators_do(example: Example, size: Tiles) -> None:
    changed, count = in_runs(example, Isa.SCALAR, [size])
    assert sum(isinstance(node.op, Run) for node in changed.graph.nodes) == count
    (expected,), (result,) = example.reference.outputs, changed.reference.outputs
    assert np.array_equal(expected, result)


@settings(max_examples=15)
@given(run_graphs())
def test_only_the_next_operator_reads_what_is_inside(example: Example) -> None:
    outside = {port.tensor for port in example.graph.outputs}
    for chain in chains(example.graph):
        for part, reader in zip(chain.parts, chain.parts[1:], strict=False):
            (inner,) = part.outputs
            readers = [node for node in example.graph.nodes if inner in node.inputs]
            assert readers == [reader] and inner not in outside
    kept = without_overlaps(list(chains(example.graph)))
    nodes = [node for chain in kept for node in range(chain.start, chain.end)]
    assert len(set(nodes)) == len(nodes)


def test_a_convolution_of_windows_may_begin_a_run() -> None:
    """But not follow in one: what its windows see again would be computed or kept as well."""
    drawing = bottlenecks(1)
    first, depthwise, last = drawing.nodes
    window = Window((3, 3), padding=(1, 1))
    data = Numbers(1)

    def widened(node: Node) -> Node:
        op = node.op
        assert isinstance(op, Conv2d)
        weights = data.int8(len(op.bias), 3, 3, node.inputs[0].shape[3])
        return replace(node, op=replace(op, weights=weights, window=window))

    starts = replace(drawing, nodes=(widened(first), depthwise, last))
    assert [(chain.start, chain.end) for chain in chains(starts)] == [(0, 2), (0, 3), (1, 3)]
    ends = replace(drawing, nodes=(first, depthwise, widened(last)))
    assert [(chain.start, chain.end) for chain in chains(ends)] == [(0, 2)]

"""Vertical strips compute the same image, for less memory."""

from __future__ import annotations

import numpy as np
import pytest
from harness.convolutions import Numbers
from harness.run_graphs import WIDE, bottlenecks, with_dead_channel

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import is_striped, striped


@pytest.mark.parametrize(
    "graph", [bottlenecks(), with_dead_channel(bottlenecks())], ids=["all channels", "dead channel"]
)
def test_strips_give_the_same_image(graph: Graph) -> None:
    images = Numbers(1).int8(*graph.inputs[0].tensor.shape)
    (whole,) = evaluate(graph.whole, (images,)).outputs
    graph = feed_rows(graph)
    every = [*striped(graph)]
    assert every and not is_striped(graph)
    for full, strips in every:
        assert is_striped(full) and len(strips.nodes) <= len(full.nodes)
        np.testing.assert_array_equal(evaluate(full, (images,)).outputs[0], whole)
        assert not [*striped(full)]


def test_strips_know_of_dead_channels() -> None:
    graph = feed_rows(with_dead_channel(bottlenecks(1)))
    for full, _ in striped(graph):
        before = full.before
        expansions = [
            node
            for node in full.nodes
            if node.outputs[0].shape[3] == WIDE - 1 and isinstance(node.op, Conv2d)
        ]
        assert expansions
        for node in expansions:
            assert before.channels(node.outputs[0]) == WIDE
            assert before.macs_of(node) * (WIDE - 1) == node.op.macs * WIDE

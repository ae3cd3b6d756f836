"""Vertical strips compute the same image, for less memory."""

from __future__ import annotations

import numpy as np
import pytest
from harness.convolutions import Numbers
from harness.run_graphs import WIDE, bottlenecks, with_dead_channel

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.strip import StripPair
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import every_strips, is_striped


@pytest.mark.parametrize(
    "graph",
    [bottlenecks(), bottlenecks(3, sums=True), with_dead_channel(bottlenecks())],
    ids=["plain", "sums", "dead channel"],
)
def test_strips_give_the_same_image(graph: Graph) -> None:
    images = Numbers(1).int8(*graph.inputs[0].tensor.shape)
    (whole,) = evaluate(graph.whole, (images,)).outputs
    graph = feed_rows(graph)
    every = [*every_strips(graph)]
    assert every and not is_striped(graph)
    for strips in every:
        assert is_striped(strips.striped)
        assert len(strips.widest.nodes) == len(strips.chain) + 1
        np.testing.assert_array_equal(evaluate(strips.striped, (images,)).outputs[0], whole)
        assert not [*every_strips(strips.striped)]


def test_strips_know_of_dead_channels() -> None:
    graph = feed_rows(with_dead_channel(bottlenecks(1)))
    for strips in every_strips(graph):
        before = strips.striped.before
        expansions = [
            node
            for node in strips.striped.nodes
            if node.outputs[0].shape[3] == WIDE - 1 and isinstance(node.op, Conv2d)
        ]
        assert expansions
        for node in expansions:
            assert before.channels(node.outputs[0]) == WIDE
            assert before.macs_of(node) * (WIDE - 1) == node.op.macs * WIDE


def test_sums_are_in_strips() -> None:
    *_, last = every_strips(feed_rows(bottlenecks(3, sums=True)))
    pairs = [node for node in last.striped.nodes if isinstance(node.op, StripPair)]
    assert len(pairs) == len(last.strips)

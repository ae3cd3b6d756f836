"""Vertical strips compute the same image, for less memory."""

from __future__ import annotations

import numpy as np
from harness.convolutions import Numbers
from harness.run_graphs import bottlenecks

from cmcompiler.ir.reference import evaluate
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.strips import is_striped, striped


def test_strips_give_the_same_image() -> None:
    graph = feed_rows(bottlenecks())
    images = Numbers(1).int8(*graph.inputs[0].tensor.shape)
    (whole,) = evaluate(graph, (images,)).outputs
    every = [*striped(graph)]
    assert every and not is_striped(graph)
    for full, strips in every:
        assert is_striped(full) and len(strips.nodes) <= len(full.nodes)
        np.testing.assert_array_equal(evaluate(full, (images,)).outputs[0], whole)
        assert not [*striped(full)]

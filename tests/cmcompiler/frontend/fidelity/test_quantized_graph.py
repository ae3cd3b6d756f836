"""The reference equals the quantised graph as torch runs it, layer by layer, within a step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.exported import Exported
from harness.quantized_graph import steps_from_torch

from cmcompiler.ops.linear import Linear

MODELS = (
    *("mixed.py:gallery", "gestures.py:temporal", "images.py:excited", "sequences.py:encoder"),
    *("sequences.py:vit", "sequences.py:sensors", "sequences.py:crnn", "sequences.py:lstm"),
    *("sequences.py:gru", "sequences.py:rnn"),
)


def test_each_layer_is_within_a_step_of_torch(exported) -> None:
    graph, samples = exported.graph(), exported.samples[:2]
    steps = steps_from_torch(exported.quantized, exported.lowered, graph, samples)
    assert len(steps) == 11
    assert {key: each for key, each in steps.items() if each is None or each > 1} == {}


def test_a_wrong_layer_is_further_off(exported) -> None:
    graph = exported.graph()
    nodes = [
        replace(node, op=replace(node.op, weights=node.op.weights[::-1]))
        if isinstance(node.op, Linear)
        else node
        for node in graph.nodes
    ]
    broken = replace(graph, nodes=tuple(nodes))
    steps = steps_from_torch(exported.quantized, exported.lowered, broken, exported.samples[:2])
    assert [name for (name, *_), each in steps.items() if each is None or each > 1] == ["linear"]


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_each_layer_of_networks_is_within_a_step_of_torch(model: str) -> None:
    exported = Exported.load(f"tests/data/models/{model}")
    graph, samples = exported.graph(), exported.samples
    steps = steps_from_torch(exported.quantized, exported.lowered, graph, samples)
    assert len(steps) >= 3
    assert {key: each for key, each in steps.items() if each is None or each > 1} == {}

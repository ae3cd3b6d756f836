"""Attention is compared part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from harness.exported import Exported
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from cmcompiler.ir.graph import Graph
from cmcompiler.ops.attention import Attention

KEYS = 40


class Attentions(nn.Module):
    """One of each kind: causal, with numbers added, with a mask of bool, with computed numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Linear(8, 24)
        places = torch.arange(KEYS)
        self.register_buffer("distances", -0.37 * (places[:, None] - places).abs())

    def forward(self, x: torch.Tensor, is_seen: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        query, key, value = self.rows(x).reshape(1, KEYS, 3, 8).permute(2, 0, 1, 3)
        value = scaled_dot_product_attention(query, key, value, is_causal=True)
        for mask in (self.distances, is_seen, added):
            value = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return value


@pytest.fixture(scope="module")
def attentions() -> Exported:
    torch.manual_seed(0)
    samples = [
        (torch.randn(1, KEYS, 8), torch.rand(1, 1, KEYS) > 0.3, torch.randn(1, KEYS, KEYS))
        for _ in range(4)
    ]
    samples[0][1][:] = False  # rows that see no key
    return Exported.of(Attentions().eval(), samples)


def test_each_part_is_within_its_roundings(attentions: Exported) -> None:
    fidelity = attentions.check()
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)
    layers = [layer for layer in fidelity.layers if "attention" in layer.node]
    assert len(layers) == 4
    assert all(0.4 < layer.error_steps <= layer.bound_steps < 0.52 for layer in layers)


@pytest.mark.parametrize(
    "changes",
    [
        {"score": lambda score: (round(score[0] * 1.003), score[1])},
        {"query_zero_point": lambda point: point + 1},
        {"value_zero_point": lambda point: point + 1},
        {"output": lambda scale: (round(scale[0] * 1.01), scale[1])},
        {"is_causal": lambda is_causal: not is_causal},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_wrong_parameter_shows(attentions: Exported, changes: dict[str, Any]) -> None:
    graph = attentions.graph()
    before = attentions.results(graph)
    assert before is not None
    places = [place for place, node in enumerate(graph.nodes) if isinstance(node.op, Attention)]
    for place in places:
        changed = with_changes(graph, place, changes)
        after = attentions.results(changed)
        assert after is not None
        if all(map(np.array_equal, before, after)):
            continue
        wrong = [each for each in attentions.layers(graph, changed) if not each.faithful]
        assert [each.node.partition("_")[2] for each in wrong] != [], place
        assert all("attention" in each.node for each in wrong)


def with_changes(graph: Graph, place: int, changes: dict[str, Any]) -> Graph:
    """The graph with fields of one attention changed."""
    node = graph.nodes[place]
    new = {name: change(getattr(node.op, name)) for name, change in changes.items()}
    nodes = list(graph.nodes)
    nodes[place] = replace(node, op=replace(node.op, **new))
    return replace(graph, nodes=tuple(nodes))

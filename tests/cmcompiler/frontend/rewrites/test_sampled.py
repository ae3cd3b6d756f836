"""Nodes of a graph are computed on calibration inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.sampled import note_samples, sampled


class Sums(nn.Module):
    def forward(self, x: Tensor, y: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return (x + y).relu(), state * 2


def graph_and_result() -> tuple[GraphModule, Node]:
    example = (torch.ones(3), torch.ones(3), torch.ones(1))
    graph = torch.export.export(Sums(), example).module(check_guards=False)
    (relu,) = (node for node in graph.graph.nodes if node.target is torch.ops.aten.relu.default)
    return graph, relu


def test_a_few_samples_are_computed() -> None:
    graph, relu = graph_and_result()
    rows = [(torch.full((3,), float(i)), -torch.ones(3), torch.ones(1)) for i in range(20)]
    note_samples(graph, rows)
    actual = [float(value[0]) for (value,) in sampled(relu)]
    assert actual == [max(i - 1.0, 0.0) for i in range(0, 20, 3)]


def test_without_samples_nothing_is_known() -> None:
    graph, relu = graph_and_result()
    assert list(sampled(relu)) == []
    note_samples(graph, [(torch.ones(3),)])
    assert list(sampled(relu)) == []

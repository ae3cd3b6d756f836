"""Meters see each value once, and leave a graph as it was."""

from __future__ import annotations

import torch
from torch import nn
from torch.fx import symbolic_trace

from cmcompiler.frontend.meters import insert_meter, remove_meters


class Meter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[torch.Tensor, int]] = []

    def forward(self, value: torch.Tensor, number: int) -> None:
        self.seen.append((value, number))


def test_a_meter_sees_what_a_node_computes_until_it_is_removed() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    graph = symbolic_trace(module)
    code = graph.code
    relu = next(node for node in graph.graph.nodes if node.target == "1")
    meter = Meter()
    insert_meter(meter, relu, (relu, 7))
    graph.recompile()
    x = torch.randn(2, 3)
    result = graph(x)
    ((value, number),) = meter.seen
    assert number == 7
    assert torch.equal(value, result)
    remove_meters(graph, Meter)
    graph.recompile()
    assert graph.code == code
    assert not any(isinstance(part, Meter) for part in graph.modules())

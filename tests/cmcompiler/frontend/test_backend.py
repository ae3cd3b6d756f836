"""What the quantizer learns from the way between operators."""

from __future__ import annotations

from operator import attrgetter

import torch
from torch import Tensor, nn

from cmcompiler.frontend import backend, operators

CUTS = 40
"""So many that no walk along each way, 2^40, comes to an end."""


class Chain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(CUTS):
            x = torch.cat([x[:, :2], x[:, 2:]], 1)
        return x


def test_long_chains_of_movements_are_walked_once() -> None:
    operators.define()
    graph = torch.export.export(Chain(), (torch.randn(1, 4),)).module(check_guards=False).graph
    inputs = next(iter(graph.nodes)).users
    *_, output = graph.nodes
    assert not any(map(backend._is_short_result, output.all_input_nodes))
    assert not backend._is_short(inputs, attrgetter("users"))

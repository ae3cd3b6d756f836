from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.prelu import keep_prelus


class Computed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.prelu(x, x.mean((0, 2)))


def test_slopes_that_are_parameters_are_kept():
    layers = nn.Sequential(nn.Linear(4, 4), nn.PReLU(3))
    nn.init.uniform_(layers[1].weight)
    graph = rewritten(layers, torch.randn(2, 3, 4), by=keep_prelus, tolerance=0)
    assert targets(graph)[-1] == "cmbuild.prelu.default"


def test_computed_slopes_are_left_alone():
    graph = rewritten(Computed(), torch.randn(2, 3, 4), by=keep_prelus)
    assert targets(graph)[-1] == "aten.prelu.default"

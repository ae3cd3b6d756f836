"""Operators that change nothing go."""

from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn
from torch.nn import functional as F

from cmcompiler.frontend.rewrites.identities import remove_identities


class Idle(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.dropout(x, training=False).to(torch.float32)
        y = F.alpha_dropout(F.dropout2d(y, training=False), training=False)
        y = (sum([y]) - 0.0) / 1 * 1.0
        return torch.relu(y.type_as(x).float())


class Busy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        half = x.to(torch.float16)
        return F.dropout(x, 0.0, training=True) + half.to(torch.float32) - 1


def test_operators_that_change_nothing_go():
    graph = rewritten(Idle(), torch.randn(1, 3, 4, 4), by=remove_identities, tolerance=0)
    assert targets(graph) == ["aten.relu.default"]


def test_conversions_and_dropout_in_training_stay():
    graph = rewritten(Busy(), torch.randn(2, 3), by=remove_identities, tolerance=0)
    assert [name for name in targets(graph) if "dropout" in name or "to" in name] == [
        "aten.to.dtype",
        "aten.dropout.default",
        "aten.to.dtype",
    ]

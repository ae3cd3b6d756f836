"""Operators that change nothing go."""

from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn
from torch.nn import functional as F

from cmcompiler.frontend.rewrites.identities import remove_copies, remove_identities


class Idle(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.dropout(x, training=False).to(torch.float32)
        y = F.alpha_dropout(F.dropout2d(y, training=False), training=False)
        y = ((sum([y]) - 0.0) / 1 * 1.0).detach()
        return torch.relu(y.type_as(x).float())


class Busy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        half = x.to(torch.float16)
        return F.dropout(x, 0.0, training=True) + half.to(torch.float32) - 1


def test_operators_that_change_nothing_go():
    graph = rewritten(Idle(), torch.randn(1, 3, 4, 4), by=remove_identities, tolerance=0)
    assert targets(graph) == ["aten.relu.default"]


class OfOneTerm(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.lerp(torch.relu(x), torch.relu(x) * 0 + torch.tanh(x), 1.0)
        return torch.lerp(y + y.sum() * 0, x, 0.0)


def test_sums_of_one_term_go():
    graph = rewritten(OfOneTerm(), torch.randn(2, 3), by=remove_identities, tolerance=0)
    assert targets(graph) == ["aten.tanh.default"]


class WrittenLater(nn.Module):
    """Writes to what copies come from, to copies, and through views of both or of what they are
    views of.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        before, halved, row = y * 1.0, y / 1, y[0] + 0
        y += 1
        halved.mul_(0.5)
        return before + halved * y + row


def test_copies_that_change_nothing_stay_where_tensors_are_written_to():
    graph = rewritten(WrittenLater(), torch.randn(2, 3), by=remove_identities, tolerance=0)
    assert {"aten.mul.Tensor", "aten.div.Tensor"} <= set(targets(graph))


class Copied(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x).detach()
        return y.clone() + y.permute(0, 1, 3, 2).clone(memory_format=torch.contiguous_format)


class Written(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        z = y.clone()
        z[0] = 3.0
        return z + y


def test_copies_of_results_go():
    graph = rewritten(Copied(), torch.randn(1, 3, 4, 4), by=remove_copies, tolerance=0)
    names = [name.split(".")[1] for name in targets(graph)]
    assert names == ["relu", "permute", "clone", "add"]


def test_copies_stay_where_tensors_are_written_to():
    graph = rewritten(Written(), torch.randn(2, 3), by=remove_copies, tolerance=0)
    assert "aten.clone.default" in targets(graph)


def test_conversions_and_dropout_in_training_stay():
    graph = rewritten(Busy(), torch.randn(2, 3), by=remove_identities, tolerance=0)
    assert [name for name in targets(graph) if "dropout" in name or "to" in name] == [
        "aten.to.dtype",
        "aten.dropout.default",
        "aten.to.dtype",
    ]

"""Features that a state keeps and a filter over time become one operator, in every spelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.svdf import join_filters

INPUTS, UNITS, RANK, TIME = 5, 4, 2, 3

Compute = Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]]


class Layer(nn.Module):
    """Takes a state and returns the next; parameters for every spelling."""

    def __init__(self, compute: Compute) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.compute = compute
        self.features = nn.Linear(INPUTS, UNITS * RANK)
        self.weight = nn.Parameter(torch.randn(UNITS * RANK, TIME))
        self.bias = nn.Parameter(torch.randn(UNITS))
        self.filter = nn.Conv1d(UNITS * RANK, UNITS, TIME, groups=UNITS)
        self.head = nn.Linear(UNITS, 2)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.compute(self, x, state)


def products(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.cat([state[:, :, 1:], self.features(x).unsqueeze(2)], 2)
    summed = (state * self.weight).sum(2).view(1, UNITS, RANK).sum(-1)
    return self.head(torch.relu(summed + self.bias)), state


def rolled(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.select_scatter(torch.roll(state, -1, 2), self.features(x), 2, TIME - 1)
    summed = torch.einsum("bft,ft->bf", state, self.weight.flip(1))
    return self.head(summed.reshape(1, UNITS, RANK).mean(2)).tanh(), state


def convolved(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.cat([state[:, 1:], self.features(x)[:, None]], 1)
    return self.filter(state.transpose(1, 2)).squeeze(2) * 2, state


STATES = {products: (1, 8, 3), rolled: (1, 8, 3), convolved: (1, 3, 8)}


@pytest.mark.parametrize("compute", STATES, ids=lambda each: each.__name__)
def test_layers_become_one_operator(compute: Compute) -> None:
    graph = rewritten(
        Layer(compute), torch.randn(1, INPUTS), torch.randn(STATES[compute]), by=join_filters
    )
    assert set(targets(graph)) - {"aten.view.default", "aten.linear.default"} <= {
        *("cmbuild.svdf.default", "<built-in function getitem>"),
        "aten.tanh.default",
    }
    assert targets(graph).count("cmbuild.svdf.default") == 1


def newest_first(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.cat([self.features(x).unsqueeze(2), state[:, :, :-1]], 2)
    return (state * self.weight).sum(2), state


def mixed(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.cat([state[:, :, 1:], self.features(x).unsqueeze(2)], 2)
    return (state * self.weight).sum(1), state


def squared(self: Layer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    state = torch.cat([state[:, :, 1:], self.features(x).unsqueeze(2)], 2)
    return (state * state).sum(2), state


@pytest.mark.parametrize("compute", [newest_first, mixed, squared], ids=lambda each: each.__name__)
def test_what_is_no_filter_stays(compute: Compute) -> None:
    graph = rewritten(Layer(compute), torch.randn(1, INPUTS), torch.randn(1, 8, 3), by=join_filters)
    assert "cmbuild.svdf.default" not in targets(graph)

"""Values of nodes that do not depend on inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.constants import value_of


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(4.0))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        triangle = torch.ones(2, 2).triu(1) * self.weight[1:3]
        return triangle, x + triangle, torch.rand(2, 2)


def test_only_what_no_input_or_chance_decides_has_a_value() -> None:
    graph = torch.export.export(Mixed(), (torch.ones(2, 2),)).module(check_guards=False).graph
    constant, computed, random = graph.output_node().args[0]
    assert torch.equal(value_of(constant), torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    assert value_of(computed) is None
    assert value_of(random) is None
    assert value_of(3) is None


def test_what_takes_only_the_form_of_an_input_is_constant() -> None:
    class Filled(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return torch.zeros_like(x), x.new_full((3,), 0.5), torch.ones_like(x) * 2, x.clone()

    graph = torch.export.export(Filled(), (torch.rand(2, 2),)).module(check_guards=False).graph
    zeros, halves, twos, copy = map(value_of, graph.output_node().args[0])
    assert torch.equal(zeros, torch.zeros(2, 2)) and torch.equal(halves, torch.full((3,), 0.5))
    assert torch.equal(twos, torch.full((2, 2), 2.0)) and copy is None

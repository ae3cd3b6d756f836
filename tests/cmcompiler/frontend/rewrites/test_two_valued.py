"""Tensors of two numbers, as masks are before they are added."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.two_valued import VALUES, TwoValued, TwoValuedTensors

PADDED = torch.arange(6) > 3


class Mask(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, mask: Tensor) -> Tensor:
        return self.function(mask)


def learned(
    function: Callable[[Tensor], Tensor], mask: Tensor, values: tuple[float, ...] | None = None
) -> TwoValued | None:
    graph = torch.export.export(Mask(function), (mask,)).module(check_guards=False).graph
    tensors, nodes, known = TwoValuedTensors(), list(graph.nodes), {}
    for node in nodes:
        if node.op == "placeholder" and values is not None:
            node.meta[VALUES] = values
        if node.op in ("placeholder", "call_function"):
            known[node] = tensors.learn(node)
    (result,) = nodes[-1].all_input_nodes
    return known[result]


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "numbers": (lambda m: torch.where(m, 2.0, -3.0), 2, -3),
    "fill": (lambda m: torch.zeros(6).masked_fill(m, -math.inf), -math.inf, 0),
    "chain": (lambda m: (1 - torch.where(m, 1.0, 0.0)) * -1e4, 0, -1e4),
    "logarithm": (lambda m: torch.where(m, 1.0, 0.0).log(), 0, -math.inf),
    "moved": (lambda m: torch.where(m, 2.0, 1.0)[None, :].expand(2, 6) * 3, 6, 3),
    "integers": (lambda m: (1 - m.long()).float() * -5, 0, -5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_condition(name: str) -> None:
    function, true, false = FUNCTIONS[name]
    two = learned(function, PADDED)
    assert two is not None and (two.true, two.false) == (true, false)


def test_inputs_of_two_values() -> None:
    two = learned(lambda m: (1 - m) * -1e4, PADDED.float(), (0, 1))
    assert two is not None and (two.true, two.false) == (-1e4, 0)
    assert str(two.condition.target) == "aten.eq.Scalar"
    two = learned(lambda m: m * 2, PADDED.float(), (-math.inf, 0))
    assert two is not None and str(two.condition.target) == "aten.logical_not.default"


def test_others_have_more() -> None:
    assert learned(lambda m: torch.where(m, 2.0, torch.arange(6.0)), PADDED) is None
    assert learned(lambda m: (1 - m) * -1e4, PADDED.float()) is None

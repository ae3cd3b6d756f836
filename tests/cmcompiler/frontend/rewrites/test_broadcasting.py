"""Arithmetic on tensors of different shapes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn import functional as F

from cmcompiler.frontend.rewrites.broadcasting import replace_broadcasts


class Body(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function
        self.row = nn.Parameter(torch.rand(6) + 1)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs, self.row)


OTHER_SHAPES = {
    "sum": (lambda x, y, row: x + y, ["cmbuild.add.default"]),
    "difference": (lambda x, y, row: x - y, ["cmbuild.add.default"]),
    "alpha": (lambda x, y, row: torch.sub(x, y, alpha=3), ["cmbuild.add.default"]),
    "fraction": (lambda x, y, row: torch.add(x, x.flip(1), alpha=0.3), ["cmbuild.add.default"]),
    "reversed": (lambda x, y, row: torch.rsub(x, y, alpha=2), ["cmbuild.add.default"]),
    "product": (lambda x, y, row: y * x, ["cmbuild.mul.default"]),
    "quotient": (lambda x, y, row: x / (2 + y.abs()), ["cmbuild.div.default"]),
    "from a constant": (lambda x, y, row: row - x, ["cmbuild.add.default"]),
    "by a constant": (lambda x, y, row: x / row, ["cmbuild.mul.default"]),
    "of a constant": (lambda x, y, row: row / (2 + y.abs()), ["cmbuild.div.default"]),
}


@pytest.mark.parametrize("name", OTHER_SHAPES)
def test_other_shapes_are_operators_of_the_compiler(name):
    function, expected = OTHER_SHAPES[name]
    inputs = torch.randn(2, 5, 6), torch.randn(5, 1)
    graph = rewritten(Body(function), *inputs, by=replace_broadcasts)
    left = [each for each in targets(graph) if each.split(".")[1] in ("add", "sub", "mul", "div")]
    assert [each for each in left if each.startswith("cmbuild")] == expected


def test_one_shape_is_left_to_the_backend():
    def function(x: Tensor, y: Tensor, row: Tensor) -> Tensor:
        return (x + y) * (x - y) / torch.add(x.abs(), row, alpha=2)

    graph = rewritten(Body(function), torch.randn(3, 6), torch.randn(3, 6), by=replace_broadcasts)
    assert [name for name in targets(graph) if name.startswith("cmbuild")] == [
        "cmbuild.add.default"
    ]
    graph = rewritten(Body(lambda x, y, _: (x + y) * (x - y) / y), *torch.randn(2, 3, 6))
    assert not any(name.startswith("cmbuild") for name in targets(graph))


def test_integers_are_left_alone():
    graph = rewritten(
        Body(lambda x, y, _: x + y),
        torch.arange(6),
        torch.arange(3)[:, None],
        by=replace_broadcasts,
    )
    assert targets(graph) == ["aten.add.Tensor"]


CLAMPS = {
    "relu": (torch.relu, (0.0, None)),
    "hardtanh": (F.hardtanh, (-1.0, 1.0)),
    "hardtanh from 0": (lambda y: F.hardtanh(y, 0.0, 2.0), (0.0, 2.0)),
    "clamp": (lambda y: y.clamp(max=0.5), (None, 0.5)),
}


@pytest.mark.parametrize("name", CLAMPS)
def test_a_sum_takes_the_clamp_after_it(name):
    clamp, bounds = CLAMPS[name]
    inputs = torch.randn(5, 6), torch.randn(5, 1)
    graph = rewritten(Body(lambda x, y, _: clamp(x + y)), *inputs, by=replace_broadcasts)
    assert targets(graph) == ["cmbuild.add.default"]
    (made,) = (node for node in graph.graph.nodes if node.op == "call_function")
    assert made.args[3:] == bounds


def test_a_clamp_of_a_sum_with_another_reader_stays():
    function = Body(lambda x, y, _: (x + y) * torch.relu(x + y))
    graph = rewritten(function, torch.randn(5, 6), torch.randn(5, 1), by=replace_broadcasts)
    assert "aten.relu.default" not in targets(graph)

    def shared(x: Tensor, y: Tensor, _: Tensor) -> Tensor:
        z = x + y
        return z * torch.relu(z)

    graph = rewritten(Body(shared), torch.randn(5, 6), torch.randn(5, 1), by=replace_broadcasts)
    assert "aten.relu.default" in targets(graph)

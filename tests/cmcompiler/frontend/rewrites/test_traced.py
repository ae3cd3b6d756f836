"""Expressions of torch become nodes of a graph."""

from __future__ import annotations

from typing import Any

import torch
from harness.rewriting import Function, rewritten, targets
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.editing import replace
from cmcompiler.frontend.rewrites.traced import apply_rules, written

aten = torch.ops.aten
X = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(1)) + 0.5


def test_methods_functions_operators_and_constants() -> None:
    def rule(self: Any) -> Any:
        both = torch.cat([self * 2 + 1, (self - 0.5) / self], 1)
        places = torch.arange(3)
        return torch.where(both > 0, both, 0.0).index_select(1, places) @ torch.eye(4)

    def by(module: GraphModule) -> None:
        apply_rules(module, {aten.relu.default: rule})

    graph = torch.export.export(Function(torch.relu), (X,)).module(check_guards=False)
    by(graph)
    graph.recompile()
    torch.testing.assert_close(graph(X), rule(X))
    assert [each.split(".")[1] for each in targets(graph)] == [
        *("mul", "add", "sub", "div", "cat", "gt", "where", "index_select", "matmul")
    ]


def test_unused_results_leave_nothing() -> None:
    def by(module: GraphModule) -> None:
        apply_rules(
            module, {aten.aminmax.default: lambda self: (self.amin([]), self.abs().amax([]))}
        )
        assert len(module.graph.find_nodes(op="call_function", target=aten.abs.default)) == 0

    graph = rewritten(Function(lambda x: x.aminmax().min), X, by=by)
    assert targets(graph) == ["aten.amin.default"]


def test_none_keeps_an_operator() -> None:
    graph = rewritten(
        Function(torch.relu), X, by=lambda module: apply_rules(module, {aten.relu.default: _none})
    )
    assert targets(graph) == ["aten.relu.default"]


def _none(self: Any, out: Any) -> None:
    assert self.shape == out.shape


def test_an_expression_of_nodes_takes_one_of_several_results() -> None:
    def by(module: GraphModule) -> None:
        (node,) = module.graph.find_nodes(op="call_function", target=aten.relu.default)
        replace(node, written(node, lambda x: x.sort()[0].sort()[0].relu(), node.args[0]))

    graph = rewritten(Function(lambda x: x.cummax(-1)[0].relu()), X.sort()[0], by=by)
    assert "aten.sort.default" in targets(graph)

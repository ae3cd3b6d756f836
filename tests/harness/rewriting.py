"""Exported graphs before and after the rewrites."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend import operators
from cmcompiler.frontend.rewrites.order import rewrite


class Function(nn.Module):
    """A module that computes a function of one tensor."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def rewritten(
    module: nn.Module,
    *inputs: Tensor,
    by: Callable[[GraphModule], None] = rewrite,
    tolerance: float = 1e-5,
) -> GraphModule:
    """The module's graph after rewrites, once it has computed the same as the module.

    Args:
        tolerance: absolute and relative, for sums in another order; 0 asks for the same bits.
    """
    operators.define()
    module = module.eval()
    graph = torch.export.export(module, inputs).module(check_guards=False)
    by(graph)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    graph.graph.lint()
    with torch.no_grad():
        torch.testing.assert_close(
            graph(*inputs), module(*inputs), rtol=tolerance, atol=tolerance, check_stride=False
        )
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        assert node.op != "call_function" or value is not None, f"{node.name} has no value"
    return graph


def targets(graph: GraphModule) -> list[str]:
    """Names of the operators that a graph calls, in order: `aten.relu.default`."""
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]

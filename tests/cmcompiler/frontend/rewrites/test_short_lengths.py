"""Functions of x² + y² with int16 activations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend.operators import define, short_length
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.short_lengths import join_lengths

EVERYWHERE = (("*", "8w16a"),)


class Root(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.sqrt(x**2 + y * y + 1e-6)


class Powers(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.log(x.square() + y.square() + 1e-3)


class Both(nn.Module):
    """Whose sum of squares is a result, too."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        total = x**2 + y**2
        return total, torch.sqrt(total)


def rewritten(
    module: nn.Module, precision: tuple[tuple[str, str], ...] = EVERYWHERE
) -> GraphModule:
    define()
    exported = torch.export.export(module, (torch.rand(2, 3), torch.rand(2, 3)))
    return rewrite(exported.module(check_guards=False), precision=precision)


def lengths(graph: GraphModule) -> int:
    own = torch.ops.cmbuild.short_length.default
    return sum(node.target is own for node in graph.graph.nodes)


@pytest.mark.parametrize("make", [Root, Powers])
def test_the_root_takes_the_place_of_the_sum_of_squares(make: Callable[[], nn.Module]) -> None:
    graph = rewritten(make())
    assert lengths(graph) == 1
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    torch.testing.assert_close(graph(x, y), make()(x, y))


def test_a_sum_that_is_used_itself_and_bytes_stay() -> None:
    assert lengths(rewritten(Both())) == 0
    assert lengths(rewritten(Root(), ())) == 0


def test_nothing_is_joined_that_is_not_chosen() -> None:
    graph = rewritten(Root(), ())
    join_lengths(graph, lambda _: False)
    assert lengths(graph) == 0
    torch.testing.assert_close(
        short_length.length(torch.tensor([3.0]), torch.tensor([4.0])), torch.tensor([5.0])
    )

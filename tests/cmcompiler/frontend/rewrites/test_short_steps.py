"""Norms and attention of int16 steps compute what torch's do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend.operators import define
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.short_steps import steps


class Attending(nn.Module):
    def __init__(self, is_causal: bool = False) -> None:
        super().__init__()
        self.is_causal = is_causal

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(2)
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=self.is_causal)


def varied(norm: nn.Module) -> nn.Module:
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def rewritten(module: nn.Module, x: Tensor) -> GraphModule:
    define()
    exported = torch.export.export(module.eval(), (x,))
    return rewrite(exported.module(check_guards=False), precision=(("*", "8w16a"),))


@pytest.mark.parametrize(
    "make",
    [
        lambda: varied(nn.LayerNorm([3, 5])),
        lambda: nn.LayerNorm(5, elementwise_affine=False),
        lambda: varied(nn.RMSNorm(5, eps=1e-5)),
        lambda: varied(nn.GroupNorm(2, 4)),
        lambda: varied(nn.InstanceNorm2d(4, affine=True)),
        Attending,
    ],
)
def test_steps_compute_the_same_in_int16(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    module, x = make(), torch.randn(2, 4, 3, 5)
    graph = rewritten(module, x)
    targets = {node.target for node in graph.graph.nodes if node.op == "call_function"}
    assert not targets & steps().keys()
    assert any("short_" in str(target) for target in targets)
    torch.testing.assert_close(graph(x), module(x))


def test_masked_attention_stays_in_bytes() -> None:
    graph = rewritten(Attending(is_causal=True), torch.randn(2, 4, 3, 5))
    targets = {str(node.target) for node in graph.graph.nodes}
    assert "cmbuild.attention.default" in targets

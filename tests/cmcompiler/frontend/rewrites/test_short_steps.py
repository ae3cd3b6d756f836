"""Norms and attention of int16 steps compute what torch's do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend.operators import define
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples
from cmcompiler.frontend.rewrites.short_steps import steps


class Attending(nn.Module):
    """
    Args:
        mask: `sees` for what the inputs choose, `biased` for numbers of the input that are added.
        heads: of keys and values.
    """

    def __init__(self, mask: Tensor | str | None = None, heads: int = 4, **options: bool) -> None:
        super().__init__()
        self.mask, self.heads, self.options = mask, heads, options

    def forward(self, x: Tensor) -> Tensor:
        shared, given = x[:, : self.heads], x[..., : x.shape[2]]
        masks = {"sees": given > -0.5, "biased": given}
        mask = masks[self.mask] if isinstance(self.mask, str) else self.mask
        return nn.functional.scaled_dot_product_attention(
            x, shared, shared, attn_mask=mask, **self.options
        )


def varied(norm: nn.Module) -> nn.Module:
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def rewritten(module: nn.Module, x: Tensor) -> GraphModule:
    define()
    exported = torch.export.export(module.eval(), (x,))
    graph = exported.module(check_guards=False)
    note_samples(graph, [(x,)])
    return rewrite(graph, precision=(("*", "8w16a"),))


@pytest.mark.parametrize(
    "make",
    [
        lambda: varied(nn.LayerNorm([3, 5])),
        lambda: nn.LayerNorm(5, elementwise_affine=False),
        lambda: varied(nn.RMSNorm(5, eps=1e-5)),
        lambda: varied(nn.GroupNorm(2, 4)),
        lambda: varied(nn.InstanceNorm2d(4, affine=True)),
        Attending,
        lambda: Attending(is_causal=True),
        lambda: Attending(torch.tensor([[0.0, -1.0, -torch.inf]])),
        lambda: Attending("sees"),
        lambda: Attending("biased"),
        lambda: Attending("sees", heads=2, enable_gqa=True),
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

"""Norms become the compiler's own, with the same results."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import nn

IMAGE = torch.randn(2, 8, 3, 4, generator=torch.Generator().manual_seed(1))


def randomised(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (nn.LayerNorm(4), "layer_norm"),
        (nn.LayerNorm([8, 3, 4], eps=0.1), "layer_norm"),
        (nn.LayerNorm([3, 4], elementwise_affine=False), "layer_norm"),
        (nn.LayerNorm(4, bias=False), "layer_norm"),
        (nn.RMSNorm(4), "rms_norm"),
        (nn.RMSNorm([3, 4], eps=0.1, elementwise_affine=False), "rms_norm"),
        (nn.GroupNorm(2, 8), "group_norm"),
        (nn.GroupNorm(8, 8, affine=False), "group_norm"),
        (nn.InstanceNorm2d(8), "group_norm"),
        (nn.InstanceNorm2d(8, affine=True), "group_norm"),
    ],
    ids=str,
)
def test_layers(layer: nn.Module, name: str) -> None:
    for image in (IMAGE, IMAGE.to(memory_format=torch.channels_last)):
        graph = rewritten(randomised(layer), image)
        assert targets(graph) == [f"cmbuild.{name}.default"]
        assert graph(image).stride() == image.stride()


class Computed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x, [4], weight=x[0, 0, 0])


def test_a_norm_with_computed_parameters_stays() -> None:
    assert "aten.layer_norm.default" in targets(rewritten(Computed(), IMAGE))

"""Resized images and samples at constant places are products with constants."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate

from cmcompiler.frontend.rewrites.resampling import weigh_samples

IMAGE = torch.randn(2, 3, 8, 10, generator=torch.Generator().manual_seed(1))
VOLUME = torch.randn(1, 2, 4, 5, 6, generator=torch.Generator().manual_seed(2))
TURN = torch.tensor([[[1.3, 0.2, 0.1], [-0.2, 0.9, 0.3]]])


@pytest.mark.parametrize(
    ("x", "settings"),
    [
        (IMAGE, {"scale_factor": 2.3, "mode": "bicubic"}),
        (IMAGE, {"size": (5, 13), "mode": "bicubic", "align_corners": True}),
        (IMAGE, {"scale_factor": 1.7, "mode": "bicubic", "recompute_scale_factor": True}),
        (IMAGE, {"size": (5, 4), "mode": "bilinear", "antialias": True}),
        (IMAGE, {"size": (8, 4), "mode": "bicubic", "antialias": True}),
        (VOLUME, {"scale_factor": (2, 1, 3), "mode": "trilinear"}),
    ],
)
def test_resized(x: Tensor, settings: dict[str, Any]) -> None:
    graph = rewritten(Function(partial(interpolate, **settings)), x, by=weigh_samples)
    assert {"aten.linear.default"} <= set(targets(graph))
    assert {"aten.linear.default", "aten.permute.default"} >= set(targets(graph))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("margin", ["zeros", "border"])
@pytest.mark.parametrize("corners", [True, False])
def test_sampled(mode: str, margin: str, corners: bool) -> None:
    def compute(x: Tensor) -> Tensor:
        grid = affine_grid(TURN, [1, 3, 7, 9], align_corners=corners)
        return grid_sample(x, grid, mode, margin, corners)

    graph = rewritten(Function(compute), IMAGE[:1], by=weigh_samples)
    assert targets(graph).count("aten.index_select.default") == 1
    assert "aten.grid_sampler.default" not in targets(graph)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_samples_at_computed_places(mode: str) -> None:
    def compute(x: Tensor) -> Tensor:
        return grid_sample(x, x[..., :2].transpose(1, 2), mode, align_corners=False)

    graph = rewritten(Function(compute), torch.randn(2, 4, 4, 4), by=weigh_samples)
    assert "aten.grid_sampler.default" not in targets(graph)


@pytest.mark.parametrize(("mode", "margin"), [("bicubic", "zeros"), ("bilinear", "reflection")])
def test_other_samples_stay(mode: str, margin: str) -> None:
    def compute(x: Tensor) -> Tensor:
        return grid_sample(x, x[:, 0, None, :, :2], mode, margin, align_corners=False)

    graph = rewritten(Function(compute), torch.randn(1, 2, 4, 4), by=weigh_samples)
    assert "aten.grid_sampler.default" in targets(graph)

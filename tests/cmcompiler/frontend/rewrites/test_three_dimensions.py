"""Volumes as images."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function, rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.three_dimensions import compute_volumes_on_images

OPERATORS = {
    "convolution": nn.Conv3d(4, 6, 3),
    "convolution with everything": nn.Conv3d(
        4, 6, (3, 2, 3), stride=(2, 1, 2), padding=(2, 1, 0), dilation=(1, 2, 1), groups=2
    ),
    "one slice at a time": nn.Conv3d(4, 6, (1, 3, 3), bias=False),
    "maxima": nn.MaxPool3d(3, stride=2, padding=1, ceil_mode=True),
    "means": nn.AvgPool3d((2, 3, 1), padding=(1, 1, 0)),
    "one mean": nn.AdaptiveAvgPool3d(1),
    "normalisation": nn.BatchNorm3d(4),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_compute_on_images(name):
    torch.manual_seed(0)
    volume = torch.randn(2, 4, 6, 7, 5)
    graph = rewritten(OPERATORS[name], volume, by=compute_volumes_on_images)
    assert not [name for name in targets(graph) if "3d" in name]
    listed = [n for n in graph.graph.nodes if str(n.target).startswith("aten.batch_norm")]
    assert all(node.meta["val"].dim() == 4 for node in listed)


def test_what_follows_a_convolution_stays_beside_it():
    module = nn.Sequential(nn.Conv3d(4, 6, 3), nn.BatchNorm3d(6), nn.ReLU())
    graph = rewritten(module, torch.randn(1, 4, 6, 7, 5), by=compute_volumes_on_images)
    names = targets(graph)
    first = names.index("aten.conv2d.default")
    assert names[first + 1 : first + 3] == ["aten.batch_norm.default", "aten.relu.default"]


def test_means_of_fewer_elements_at_the_border_stay():
    module = Function(lambda x: F.avg_pool3d(x, 2, padding=1, count_include_pad=False))
    graph = rewritten(module, torch.randn(1, 4, 6, 6, 6), by=compute_volumes_on_images)
    assert targets(graph) == ["aten.avg_pool3d.default"]

"""Images channels last before every operator that wants them so."""

from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.channels_last import arrange_channels_last


class Reshaping(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))

    def forward(self, x):
        x = self.first(x.view(2, 4, 6, 5))
        x = self.second(x).flatten(1)
        return self.third(x.view(2, 4, 5, 6)).view(2, -1)


def test_layouts_are_changed_once_where_needed():
    graph = rewritten(Reshaping(), torch.randn(2, 120), by=arrange_channels_last, tolerance=1e-5)
    assert targets(graph).count("aten.clone.default") == 2
    convolutions = [n for n in graph.graph.nodes if n.target is torch.ops.aten.conv2d.default]
    assert len(convolutions) == 3
    for node in convolutions:
        assert node.meta["val"].is_contiguous(memory_format=torch.channels_last)


def test_images_of_one_channel_lead_to_images_channels_last():
    x = torch.randn(1, 1, 1, 16).as_strided((1, 1, 1, 16), (16, 16, 16, 1))
    graph = rewritten(nn.Conv2d(1, 4, 1), x, by=arrange_channels_last)
    (node,) = [n for n in graph.graph.nodes if n.target is torch.ops.aten.conv2d.default]
    assert node.meta["val"].stride()[1] == 1

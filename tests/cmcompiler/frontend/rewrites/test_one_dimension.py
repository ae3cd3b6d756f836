"""Sequences as images: every operator in every configuration, and no views between them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from cmcompiler.frontend.rewrites.one_dimension import compute_on_images

LAYERS = [
    nn.Conv1d(4, 6, 3),
    nn.Conv1d(4, 8, 5, stride=2, padding=3, dilation=2, groups=4, bias=False),
    nn.Conv1d(4, 6, 3, padding="same", dilation=2),
    nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"),
    weight_norm(nn.Conv1d(4, 4, 3)),
    nn.ConvTranspose1d(4, 6, 3, stride=3, padding=2, output_padding=1, dilation=2, groups=2),
    nn.MaxPool1d(3, 2, 1, dilation=2, ceil_mode=True),
    nn.MaxPool1d(2, return_indices=True),
    nn.AvgPool1d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    nn.AvgPool1d(2),
    nn.AdaptiveAvgPool1d(5),
    nn.AdaptiveMaxPool1d(4, return_indices=True),
    nn.Upsample(scale_factor=2.5),
    nn.Upsample(33, mode="linear", align_corners=True),
    nn.Upsample(scale_factor=2, mode="nearest-exact"),
]
CHAINS = [
    lambda x: F.pad(x, (3, 0)),
    lambda x: F.pad(x, (1, 2, 1, 0), value=0.5),
    lambda x: F.pad(x, (1, 2), mode="reflect"),
    lambda x: x.unsqueeze(2).squeeze(2),
    lambda x: torch.cat([x[:, 1:, 2:], x[:, :3, :-2].flip(-1)], 1),
    lambda x: F.glu(x, 1) * torch.roll(x[:, 2:], 3, 2),
    lambda x: torch.sigmoid(x).chunk(2, 1)[1] + x.split(2, dim=-2)[0],
    lambda x: x * torch.linspace(1, 2, 4)[:, None] + torch.ones(x.shape[-1]),
    lambda x: x.softmax(1) - 2 * F.hardswish(x).clamp(-1, 1),
    lambda x: F.batch_norm(x, torch.zeros(4), torch.full((4,), 2.0)),
]


class Between(nn.Module):
    """A function between two convolutions."""

    def __init__(self, function, channels):
        super().__init__()
        self.first, self.function = nn.Conv1d(4, 4, 3), function
        self.last = nn.Conv1d(channels, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.function(self.first(x)))


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_every_layer_computes_on_images(layer):
    graph = rewritten(layer, torch.randn(2, 4, 17), by=compute_on_images)
    assert not [name for name in targets(graph) if "1d" in name]


@pytest.mark.parametrize("number", range(len(CHAINS)))
def test_no_view_is_left_between_convolutions(number):
    function = CHAINS[number]
    channels = function(torch.randn(2, 4, 20)).shape[1]
    graph = rewritten(Between(function, channels), torch.randn(2, 4, 20), by=compute_on_images)
    names = targets(graph)
    assert names.count("aten.conv2d.default") == 2
    assert names.count("aten.squeeze.dim") == 1, names


def test_what_needs_the_sequence_gets_it():
    layers = nn.Sequential(nn.Conv1d(4, 4, 3), nn.Flatten(), nn.Linear(4 * 8, 3))
    names = targets(rewritten(layers, torch.randn(1, 4, 10), by=compute_on_images))
    assert names[-3:] == ["aten.squeeze.dim", "aten.flatten.using_ints", "aten.linear.default"]

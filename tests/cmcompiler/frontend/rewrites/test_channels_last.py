"""Images channels last before every operator that wants them so."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler import api
from cmcompiler.frontend.rewrites.channels_last import arrange_channels_last
from cmcompiler.frontend.sensitivity import snr


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


class Padded(nn.Module):
    """Sums of parts of images, whose layout differs between torch's operators and the backend's."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, (1, 3))

    def forward(self, x):
        y = self.first(x)
        return self.second(F.pad(F.relu(y[..., :-2]) + y[..., 2:], (4, 0)))


def test_margins_of_sums_lie_where_they_belong():
    torch.manual_seed(0)
    samples = [(torch.randn(1, 4, 1, 32),) for _ in range(4)]
    module = Padded().eval()
    compiled = api.compile(module, samples[0], samples)
    actual = api.reference(compiled, [(x.numpy(),) for (x,) in samples])
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
    assert snr(exact, [torch.from_numpy(outputs[0].copy()) for outputs in actual]) > 30

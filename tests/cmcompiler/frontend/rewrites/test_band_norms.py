"""Normalisations of bands of rows, in the depthwise convolution before them."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.band_norms import fold_band_norms


class Banded(nn.Module):
    """A convolution, then a normalisation of its outputs' bands of rows."""

    def __init__(self, bands: int, convolution: nn.Conv2d) -> None:
        super().__init__()
        self.bands, self.convolution = bands, convolution
        self.norm = nn.BatchNorm2d(convolution.out_channels * bands)
        for tensor in (self.norm.running_mean, self.norm.running_var, self.norm.weight):
            nn.init.uniform_(tensor, 0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = (y := self.convolution(x)).shape
        return self.norm(y.view(n, c * self.bands, h // self.bands, w)).view(n, c, h, w)


@pytest.mark.parametrize(
    "convolution",
    [
        nn.Conv2d(4, 4, (3, 1), padding=(1, 0), groups=4, bias=False),
        nn.Conv2d(4, 4, 3, padding=(2, 1), dilation=(2, 1), groups=4),
        nn.Conv2d(4, 4, (5, 3), stride=(2, 1), padding=2, groups=4),
    ],
)
def test_each_band_has_its_convolution(convolution: nn.Conv2d) -> None:
    module = Banded(3, convolution)
    graph = rewritten(module, torch.randn(2, 4, 12 * convolution.stride[0], 5), by=fold_band_norms)
    assert targets(graph).count("aten.conv2d.default") == 3
    assert "aten.batch_norm.default" not in targets(graph)


@pytest.mark.parametrize(
    ("bands", "convolution"),
    [(3, nn.Conv2d(4, 4, 3, padding=1)), (1, nn.Conv2d(4, 4, 3, groups=4))],
)
def test_others_stay(bands: int, convolution: nn.Conv2d) -> None:
    graph = rewritten(Banded(bands, convolution), torch.randn(1, 4, 12, 6), by=fold_band_norms)
    assert "aten.batch_norm.default" in targets(graph)

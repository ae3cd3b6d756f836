"""Images and their depthwise columns, summed and averaged, as convolutions."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.band_norms import fold_band_norms
from cmcompiler.frontend.rewrites.column_sums import join_columns_with_images


class Block(nn.Module):
    """A sum of an image, of its convolution, and of what the mean of that becomes."""

    def __init__(self, convolution: nn.Conv2d, bands: int = 1, *, last: bool = False) -> None:
        super().__init__()
        self.convolution, self.bands, self.last = convolution, bands, last
        self.norm = nn.BatchNorm2d(4 * bands)
        for tensor in (self.norm.running_mean, self.norm.running_var, self.norm.weight):
            nn.init.uniform_(tensor, 0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolution(x)
        if self.bands > 1:
            n, c, h, w = y.shape
            y = self.norm(y.view(n, c * self.bands, h // self.bands, w)).view(n, c, h, w)
        mean = y.mean(2, keepdim=True).sigmoid()
        return (y + mean + x) if self.last else x + y + mean


def column(rows: int, dilation: int = 1, groups: int = 4) -> nn.Conv2d:
    padding = (rows // 2 * dilation, 0)
    return nn.Conv2d(4, 4, (rows, 1), padding=padding, dilation=(dilation, 1), groups=groups)


def joined(module: GraphModule) -> None:
    fold_band_norms(module)
    join_columns_with_images(module)


@pytest.mark.parametrize(
    "block",
    [
        Block(column(3)),
        Block(column(5, 2), last=True),
        Block(column(3), 3),
        Block(column(5), 4, last=True),
    ],
)
def test_the_convolution_is_neither_computed_nor_added(block: Block) -> None:
    names = targets(rewritten(block, torch.randn(2, 4, 12, 5), by=joined))
    assert names.count("aten.add.Tensor") == 1
    assert "aten.mean.dim" not in names
    assert names.count("aten.conv2d.default") == block.bands + 1


def test_without_a_mean_windows_may_be_wide() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = nn.Conv2d(4, 4, (3, 5), padding=(1, 2), groups=4, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return (self.convolution(x) + x).relu()

    names = targets(rewritten(Residual(), torch.randn(2, 4, 6, 7), by=join_columns_with_images))
    assert names == ["aten.conv2d.default", "aten.relu.default"]


def test_twice_the_columns_stay() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = column(3)

        def forward(self, x: Tensor) -> Tensor:
            y = self.convolution(x)
            return y + y + x

    names = targets(rewritten(Twice(), torch.randn(1, 4, 6, 5), by=join_columns_with_images))
    assert names.count("aten.add.Tensor") == 2


@pytest.mark.parametrize(
    "block", [Block(column(3, groups=2)), Block(nn.Conv2d(4, 4, 3, padding=1, groups=4))]
)
def test_others_stay(block: Block) -> None:
    names = targets(rewritten(block, torch.randn(1, 4, 12, 5), by=joined))
    assert "aten.mean.dim" in names and names.count("aten.add.Tensor") == 2

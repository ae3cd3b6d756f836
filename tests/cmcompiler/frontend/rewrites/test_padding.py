"""Paddings by name and circular ones."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.padding import make_margins_explicit


class Function(nn.Module):
    """Of four channels, with one weight."""

    def __init__(self, kernel, function):
        super().__init__()
        self.weight, self.function = nn.Parameter(torch.randn(4, 2, *kernel)), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.weight)


@pytest.mark.parametrize(
    ("kernel", "padding", "dilation", "pads"),
    [((3, 5), "same", 2, 0), ((2, 3), "same", (1, 2), 1), ((2, 3), "valid", 1, 0)],
)
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_names_are_margins(kernel, padding, dilation, pads):
    graph = rewritten(
        Function(
            kernel,
            lambda x, w: F.conv2d(x, w, padding=padding, dilation=dilation, groups=2),
        ),
        torch.randn(1, 4, 9, 10),
        by=make_margins_explicit,
    )
    expected = ["aten.constant_pad_nd.default"] * pads + ["aten.conv2d.default"]
    assert targets(graph) == expected


@pytest.mark.parametrize("sides", [(2, 3), (0, 1, 2, 0), (2, 2, 1, 1)])
def test_circular_margins_are_parts_of_the_image(sides):
    module = Function((1, 1), lambda x, w: F.pad(x, sides, mode="circular"))
    x = torch.randn(1, 2, 4) if len(sides) == 2 else torch.randn(1, 2, 4, 5)
    graph = rewritten(module, x, by=make_margins_explicit, tolerance=0)
    assert set(targets(graph)) == {"aten.slice.Tensor", "aten.cat.default"}

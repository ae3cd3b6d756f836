"""Products of patches as convolutions."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.patches import convolve_patches

torch.manual_seed(0)
IMAGE = torch.randn(2, 3, 6, 9)
ROWS, BIAS = torch.randn(5, 18), torch.randn(5)
SIDES = {"dilation": (2, 1), "padding": (1, 2), "stride": (1, 3)}


def _patches(x):
    return F.unfold(x, (3, 2), **SIDES)  # [2, 18, 4 · 4]


JOINED = {
    "conv2d": lambda x: F.conv2d(_patches(x).reshape(2, 18, 4, 4), ROWS[:, :, None, None], BIAS),
    "conv1d": lambda x: F.conv1d(_patches(x), ROWS[:, :, None], BIAS).relu(),
    "linear": lambda x: F.linear(_patches(x).transpose(1, 2), ROWS, BIAS),
    "linear on images": lambda x: F.linear(_patches(x).mT.reshape(2, 4, 4, 18), ROWS),
    "matmul": lambda x: torch.matmul(ROWS, _patches(x)).view(2, 5, 4, 4),
    "matmul from the right": lambda x: _patches(x).permute(0, 2, 1) @ ROWS.T,
}


@pytest.mark.parametrize("name", JOINED)
def test_a_product_of_patches_is_one_convolution(name):
    graph = rewritten(Function(JOINED[name]), IMAGE, by=convolve_patches)
    assert "aten.conv2d.default" in targets(graph)
    assert not {"aten.im2col.default", "aten.matmul.default"} & set(targets(graph))


KEPT = {
    "alone": _patches,
    "grouped": lambda x: F.conv1d(_patches(x), ROWS[:3, :6, None], groups=3),
    "wider": lambda x: F.conv1d(_patches(x), ROWS[:, :, None].expand(-1, -1, 2)),
    "across windows": lambda x: F.linear(_patches(x), ROWS[:, :16]),
    "of inputs": lambda x: torch.matmul(x[0, 0, :5, :1] @ ROWS[:1], _patches(x)),
    "regrouped": lambda x: F.conv1d(_patches(x).reshape(2, 16, 18), ROWS[:, :16, None]),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_users_keep_their_patches(name):
    graph = rewritten(Function(KEPT[name]), IMAGE, by=convolve_patches)
    assert "aten.im2col.default" in targets(graph)

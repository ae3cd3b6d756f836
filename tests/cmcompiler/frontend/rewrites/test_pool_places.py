"""Indices of max pools, and unpooling."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.pool_places import find_pool_places

torch.manual_seed(0)
LINE, IMAGE, VOLUME = torch.randn(2, 3, 11), torch.randn(2, 3, 6, 9), torch.randn(1, 2, 4, 6, 5)


def _unpooled(x):
    y, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(y.relu(), places, 2, output_size=x.shape[-2:])


FOUND = {
    "1": (LINE, lambda x: F.max_pool1d(x, 3, 2, return_indices=True)),
    "2": (IMAGE, lambda x: F.max_pool2d(x, (3, 2), (1, 3), dilation=(2, 1), return_indices=True)),
    "3": (VOLUME, lambda x: F.max_pool3d(x, 2, return_indices=True)),
    "3, values": (VOLUME, lambda x: F.max_pool3d(x, 2, padding=1, return_indices=True)[0]),
    "adaptive": (IMAGE, lambda x: F.adaptive_max_pool2d(x, (3, 3), return_indices=True)),
    "unpooled": (IMAGE, _unpooled),
}


@pytest.mark.parametrize("name", FOUND)
def test_places_are_found(name):
    x, function = FOUND[name]
    graph = rewritten(Function(function), x, by=find_pool_places, tolerance=0)
    assert not any("indices" in target or "unpool" in target for target in targets(graph))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2, padding=1, return_indices=True),
        lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True),
    ],
    ids=["margins", "windows of two sizes"],
)
def test_other_places_stay(function):
    graph = rewritten(Function(function), IMAGE, by=find_pool_places, tolerance=0)
    assert any("max_pool2d" in target for target in targets(graph))

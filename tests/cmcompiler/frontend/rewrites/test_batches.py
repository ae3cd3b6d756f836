"""Layers without a batch."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.batches import add_batches

LAYERS = {
    "conv1d": (nn.Conv1d(4, 5, 3, padding="same"), (4, 12)),
    "transposed": (nn.ConvTranspose2d(4, 5, 3), (4, 6, 6)),
    "pool": (nn.MaxPool2d(2), (4, 6, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_single_examples_become_batches(name):
    module, shape = LAYERS[name]
    graph = rewritten(module, torch.randn(shape), by=add_batches, tolerance=0)
    first, _, last = targets(graph)
    assert (first, last) == ("aten.unsqueeze.default", "aten.squeeze.dim")


def test_a_chain_has_one_batch():
    module = nn.Sequential(nn.Conv1d(4, 5, 3), nn.ReLU(), nn.Conv1d(5, 5, 3), nn.MaxPool1d(2))
    graph = rewritten(module, torch.randn(4, 12), by=add_batches, tolerance=0)
    assert [name for name in targets(graph) if "squeeze" in name] == [
        "aten.unsqueeze.default",
        "aten.squeeze.dim",
    ]


def test_batches_stay():
    module = nn.Conv2d(4, 5, 3)
    graph = rewritten(module, torch.randn(1, 4, 6, 6), by=add_batches, tolerance=0)
    assert targets(graph) == ["aten.conv2d.default"]

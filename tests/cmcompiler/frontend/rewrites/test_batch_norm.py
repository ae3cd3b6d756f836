"""Batch normalisation in the layer before or after it, or as a convolution of its own."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.batch_norm import fold_batch_norms


def used(norm: nn.Module) -> nn.Module:
    """With statistics and weights as after training."""
    for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
        if tensor is not None:
            nn.init.uniform_(tensor, 0.5, 2)
    return norm


FOLDED = [
    ([nn.Conv2d(4, 6, 3, bias=False), used(nn.BatchNorm2d(6))], (2, 4, 7, 8)),
    ([nn.Conv2d(4, 8, 3, groups=2), used(nn.BatchNorm2d(8, affine=False))], (2, 4, 7, 8)),
    ([nn.ConvTranspose2d(4, 6, 3, groups=2), used(nn.BatchNorm2d(6))], (2, 4, 5, 5)),
    ([nn.Linear(4, 6), used(nn.BatchNorm1d(6))], (3, 4)),
    ([used(nn.BatchNorm1d(4)), nn.Linear(4, 6, bias=False)], (3, 4)),
    ([used(nn.BatchNorm2d(4)), nn.Conv2d(4, 6, 3)], (2, 4, 7, 8)),
]
ALONE = [
    ([used(nn.BatchNorm2d(4)), nn.ReLU()], (2, 4, 7, 8)),
    ([used(nn.BatchNorm2d(4)), nn.Conv2d(4, 6, 3, padding=1)], (2, 4, 7, 8)),
    ([used(nn.BatchNorm1d(4)), nn.ReLU()], (2, 4, 9)),
    ([used(nn.BatchNorm1d(4)), nn.ReLU()], (2, 4)),
    ([nn.Linear(4, 6), used(nn.BatchNorm1d(3))], (2, 3, 4)),
]


@pytest.mark.parametrize("case", range(len(FOLDED)))
def test_it_is_folded_into_its_neighbour(case):
    layers, shape = FOLDED[case]
    names = targets(rewritten(nn.Sequential(*layers), torch.randn(shape), by=fold_batch_norms))
    assert len(names) == 1


@pytest.mark.parametrize("case", range(len(ALONE)))
def test_alone_it_is_a_convolution_per_channel(case):
    layers, shape = ALONE[case]
    names = targets(rewritten(nn.Sequential(*layers), torch.randn(shape), by=fold_batch_norms))
    assert "aten.conv2d.default" in names
    assert "aten.batch_norm.default" not in names


def test_a_layer_with_another_reader_stays_as_it_is():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(4, 4, 3), used(nn.BatchNorm2d(4))

        def forward(self, x):
            y = self.conv(x)
            return self.norm(y) + y

    graph = rewritten(Twice(), torch.randn(1, 4, 7, 8), by=fold_batch_norms)
    assert targets(graph).count("aten.conv2d.default") == 2


def test_shared_weights_are_changed_for_one_layer_only():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(4, 4, 3), used(nn.BatchNorm2d(4))

        def forward(self, x):
            return self.conv(self.norm(self.conv(x)))

    rewritten(Shared(), torch.randn(1, 4, 7, 8), by=fold_batch_norms)

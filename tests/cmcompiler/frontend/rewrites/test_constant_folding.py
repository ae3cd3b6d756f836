"""Constants computed ahead: which are, and which are not."""

from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from cmcompiler.frontend.rewrites.constant_folding import fold_constants


def test_normalised_weights_are_computed_ahead():
    layers = nn.Sequential(weight_norm(nn.Conv2d(3, 4, 3)), weight_norm(nn.Conv2d(4, 4, 1)))
    names = targets(rewritten(layers, torch.randn(1, 3, 5, 5), by=fold_constants))
    assert names == ["aten.conv2d.default"] * 2


def test_what_would_grow_stays():
    class Grow(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.randn(1, 256))

        def forward(self, x):
            return x + self.a.t() @ self.a

    names = targets(rewritten(Grow(), torch.randn(256, 256), by=fold_constants))
    assert names == ["aten.matmul.default", "aten.add.Tensor"]


def test_parts_of_weights_are_constants():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(6, 8))

        def forward(self, x):
            one, other = self.weight.split([2, 4])
            return nn.functional.linear(x, one), nn.functional.linear(x, other)

    names = targets(rewritten(Packed(), torch.randn(3, 8), by=fold_constants))
    assert names == ["aten.linear.default"] * 2


def test_small_positions_are_computed_ahead():
    class Positions(nn.Module):
        def forward(self, x):
            return x + torch.sin(torch.arange(40.0).reshape(5, 8) / 10)

    assert targets(rewritten(Positions(), torch.randn(5, 8))) == ["aten.add.Tensor"]


def test_repetitions_stay():
    class Repeated(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.randn(1, 8))

        def forward(self, x):
            return torch.cat([self.a.expand(4, 8), x])

    names = targets(rewritten(Repeated(), torch.randn(4, 8), by=fold_constants))
    assert names == ["aten.expand.default", "aten.cat.default"]


def test_repetitions_are_no_obstacle():
    class Cosine(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(100, 256))

        def forward(self, x):
            return nn.functional.linear(x, nn.functional.normalize(self.weight, dim=1))

    assert targets(rewritten(Cosine(), torch.randn(3, 256))) == ["aten.linear.default"]


def test_a_large_tensor_of_one_number_repeats_it():
    class Stateful(nn.Module):
        def forward(self, x):
            return torch.cat([x, torch.zeros(1, 32, 32, 32), torch.ones_like(x)], 1)

    graph = rewritten(Stateful(), torch.randn(1, 3, 32, 32), by=fold_constants, tolerance=0)
    assert targets(graph) == ["aten.expand.default", "aten.cat.default"]

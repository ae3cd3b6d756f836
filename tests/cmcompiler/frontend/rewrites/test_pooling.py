"""Adaptive pools and divisors by pools of fixed windows."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.pooling import unify_pools

LEFT = {"aten.adaptive_avg_pool2d.default", "aten.adaptive_max_pool2d.default"}


@pytest.mark.parametrize("pool", [nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d])
@pytest.mark.parametrize(
    ("size", "nodes"), [((4, 3), 1), ((5, 4), None), ((12, 9), 1), ((16, 1), None)]
)
def test_adaptive_pools_are_fixed_ones(pool, size, nodes):
    names = targets(rewritten(pool(size), torch.randn(2, 3, 12, 9), by=unify_pools))
    assert not LEFT & set(names)
    assert nodes in (None, len(names))


def test_indices_keep_their_pool():
    pool = nn.AdaptiveMaxPool2d(3, return_indices=True)
    assert LEFT & set(targets(rewritten(pool, torch.randn(1, 2, 7, 8), by=unify_pools)))


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("stride", "padding"), [(None, 0), (2, (1, 0)), ((3, 2), 1)])
def test_divisors_are_factors(ceil_mode, stride, padding):
    class Divided(nn.Module):
        def forward(self, x):
            return F.avg_pool2d(x, (3, 2), stride, padding, ceil_mode, divisor_override=4)

    names = targets(rewritten(Divided(), torch.randn(1, 3, 9, 8), by=unify_pools))
    assert names[-2:] == ["aten.avg_pool2d.default", "aten.mul.Tensor"]

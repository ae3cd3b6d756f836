"""Movements by slices, views and indices."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.movement import spell_movements
from cmcompiler.frontend.rewrites.padding import make_margins_explicit

MOVEMENTS = {
    "aten.cat.default": lambda x: torch.roll(x, (2, -1), (2, 3)),
    "aten.clone.default": lambda x: torch.roll(x, 6, 2),
    "aten.reshape.default": lambda x: F.channel_shuffle(x, 2),
    "aten.index_select.default": lambda x: F.interpolate(x, (4, 11), mode="nearest-exact"),
}


@pytest.mark.parametrize("expected", MOVEMENTS)
def test_movements(expected):
    module = Function(MOVEMENTS[expected])
    graph = rewritten(module, torch.randn(1, 4, 6, 5), by=spell_movements, tolerance=0)
    assert targets(graph)[-1] == expected


@pytest.mark.parametrize("dim", [None, 1, -1])
def test_elements_repeated_in_a_row_are_a_dimension(dim):
    module = Function(lambda x: x.repeat_interleave(3, dim))
    graph = rewritten(module, torch.randn(1, 4, 6, 5), by=spell_movements, tolerance=0)
    assert targets(graph)[-2:] == ["aten.expand.default", "aten.reshape.default"]


@pytest.mark.parametrize("factor", [2.0, 1.7, 0.6])
def test_factors_pick_as_torch_does(factor):
    module = Function(lambda x: F.interpolate(x, scale_factor=factor, mode="nearest-exact"))
    graph = rewritten(module, torch.randn(1, 2, 7, 9), by=spell_movements, tolerance=0)
    assert targets(graph) == ["aten.index_select.default"] * 2


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_mirrored_margins_have_their_own_operators(mode):
    module = Function(lambda x: F.pad(x, (1, 2, 0, 3), mode=mode))
    graph = rewritten(module, torch.randn(1, 2, 5, 6), by=make_margins_explicit, tolerance=0)
    (name,) = targets(graph)
    assert name.endswith("_pad2d.default")


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_diagonals_are_strided(offset):
    module = Function(
        lambda x: (x.diagonal(offset, 3, 1), torch.trace(x[0, 0]), torch.diag(x[0, 1], offset))
    )
    graph = rewritten(module, torch.randn(1, 4, 6, 5))
    assert not any("diagonal" in target for target in targets(graph))

"""Writes to intermediate tensors become values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn import functional as F

from cmcompiler.frontend.rewrites.in_place import remove_in_place


class Body(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x * 2)


def read_after_write(y: Tensor) -> Tensor:
    before = y + 1
    F.silu(y, inplace=True)
    y += before
    y.mul_(3).clamp_(max=5)
    return y.view(3, 4) - before


def read_through_view(y: Tensor) -> Tensor:
    view = y.view(-1)
    y.mul_(3)
    return view + 1


def write_through_view(y: Tensor) -> Tensor:
    y[0].mul_(3)
    return y + 1


def write_to_one_of_several(y: Tensor) -> Tensor:
    largest, place = y.max(1, keepdim=True)
    return y / largest.abs().clamp_(min=1) + y.max(0).values.clamp_(max=1) * place


def read_through_view_before(y: Tensor) -> Tensor:
    before = y.view(-1).tanh()
    y.mul_(3)
    return before + y.view(-1)


def only_a_view(y: Tensor) -> Tensor:
    first, view = y.sum(), y.split(2, 1)[0]
    view.mul_(3)
    return view[0].add_(1) + first


REMOVED = [read_after_write, write_to_one_of_several, read_through_view_before, only_a_view]


@pytest.mark.parametrize("function", REMOVED)
def test_later_readers_see_what_was_written(function):
    graph = rewritten(Body(function), torch.randn(3, 4), by=remove_in_place, tolerance=0)
    assert not any(name.partition(".")[2].split(".")[0].endswith("_") for name in targets(graph))


def write_to_what_two_names_hold(y: Tensor) -> Tensor:
    largest = y.max(1)
    largest[0].mul_(3)
    return largest.values + largest[0]


def write_to_a_part(y: Tensor) -> Tensor:
    y.split(2, 1)[0].mul_(3)
    return y + 1


@pytest.mark.parametrize("function", [read_through_view, write_through_view, write_to_a_part])
def test_writes_that_views_show_stay(function):
    graph = rewritten(Body(function), torch.randn(3, 4), by=remove_in_place, tolerance=0)
    assert "aten.mul_.Tensor" in targets(graph)


def test_writes_to_inputs_stay():
    class Writer(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.mul_(2) + x

    x = torch.zeros(3)
    graph = rewritten(Writer(), x, by=remove_in_place, tolerance=0)
    assert targets(graph)[0] == "aten.mul_.Tensor"

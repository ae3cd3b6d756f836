"""Who shares memory with whom: views, views of views, and one of several results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.memory import bases, is_seen_elsewhere, is_write


def by_a_view(y: Tensor) -> Tensor:
    row = y[0]
    y.mul_(3)
    return row


def by_the_whole(y: Tensor) -> Tensor:
    y[0].mul_(3)
    return y


def by_a_view_of_a_part(y: Tensor) -> Tensor:
    first, last = y.chunk(2, 1)
    row = last[0]
    first.mul_(3)
    return first[0] + row


def by_another_name(y: Tensor) -> Tensor:
    largest = y.max(1)
    values = largest[0].view(-1)
    largest.values.mul_(3)
    return values


def by_a_dropout(y: Tensor) -> Tensor:
    left = nn.functional.dropout1d(y[None], training=False)
    y.mul_(3)
    return left


def by_more_dimensions(y: Tensor) -> Tensor:
    cube = torch.atleast_3d(y)
    y.mul_(3)
    return cube


def before_only(y: Tensor) -> Tensor:
    row = y[0] + 1
    y.mul_(3)
    return row + y[0]


def by_a_copy(y: Tensor) -> Tensor:
    row = y[0].clone()
    y.mul_(3)
    return row


def other_result(y: Tensor) -> Tensor:
    values, places = y.max(1)
    values.mul_(3)
    return values + places


SEEN = (
    by_a_view,
    by_the_whole,
    by_a_view_of_a_part,
    by_another_name,
    by_a_dropout,
    by_more_dimensions,
)
UNSEEN = (before_only, by_a_copy, other_result)


@pytest.mark.parametrize("function", [*SEEN, *UNSEEN], ids=lambda each: each.__name__)
def test_who_sees_a_write(function: Callable[[Tensor], Tensor]) -> None:
    whole = Function(lambda x: function(x * 2))
    graph = torch.export.export(whole, (torch.randn(2, 4),)).graph
    order = {node: number for number, node in enumerate(graph.nodes)}
    (write,) = filter(is_write, graph.nodes)
    assert bases(write)[-1].op == "call_function"
    assert is_seen_elsewhere(write, order) == (function in SEEN)

"""Bool tensors of masks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.fx import Node

from cmcompiler.frontend.rewrites.conditions import as_large, both, moved, negated
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant


class Moved(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x.transpose(0, 1).masked_fill(~mask, 0.0)


def nodes() -> list[Node]:
    inputs = (torch.zeros(2, 3), torch.ones(3, 2, dtype=torch.bool))
    return list(torch.export.export(Moved(), inputs).module(check_guards=False).graph.nodes)


def named(name: str) -> Node:
    return next(node for node in nodes() if str(node.target).startswith(name))


def test_a_condition_moves_with_the_tensor_that_it_broadcasts_to() -> None:
    transpose = named("aten.transpose")
    column = constant(transpose, "kept", torch.tensor([[True], [False]]))
    made = moved(transpose, column)
    assert constant_value(made).tolist() == [[True, False]] * 3


def test_two_negations_are_none() -> None:
    fill = named("aten.masked_fill")
    inverse = fill.args[1]
    assert isinstance(inverse, Node)
    once = negated(fill, inverse)
    assert str(once.target) == "aten.logical_not.default"
    assert negated(fill, once) is inverse


def test_constants_are_joined_ahead() -> None:
    fill = named("aten.masked_fill")
    one, other = (constant(fill, "kept", torch.tensor(x)) for x in ([True, False], [True, True]))
    assert is_constant(both(fill, one, other))
    assert constant_value(both(fill, one, other)).tolist() == [True, False]
    computed = fill.args[1]
    assert isinstance(computed, Node)
    assert str(both(fill, one, computed).target) == "aten.logical_and.default"


def test_only_smaller_tensors_are_expanded() -> None:
    fill = named("aten.masked_fill")
    mask = constant(fill, "kept", torch.tensor([True, False]))
    assert as_large(fill, mask, [2]) is mask
    assert list(as_large(fill, mask, [3, 2]).meta["val"].shape) == [3, 2]

"""Operators that follow a layer, repeated behind another node."""

from __future__ import annotations

import torch
from torch import nn
from torch.fx import Node

from cmcompiler.frontend.rewrites.followers import ACTIVATIONS, repeat_followers

aten = torch.ops.aten


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.relu(x + 1)).sum()


def test_only_the_kinds_that_follow_alone_are_repeated() -> None:
    exported = torch.export.export(Net(), (torch.rand(2, 3),)).module()
    nodes: dict[str, Node] = {node.name: node for node in exported.graph.nodes}
    add = nodes["add"]
    with exported.graph.inserting_after(add):
        made = exported.graph.call_function(aten.mul.Tensor, (add.args[0], 2))
    made.meta["val"] = add.meta["val"]
    last, copy = repeat_followers(add, made, ACTIVATIONS)
    assert last.target is aten.tanh.default
    assert (copy.target, copy.args[0].target) == (aten.tanh.default, aten.relu.default)
    assert copy.args[0].args[0] is made
    same, unchanged = repeat_followers(add, made, {aten.tanh.default})
    assert (same, unchanged) == (add, made)

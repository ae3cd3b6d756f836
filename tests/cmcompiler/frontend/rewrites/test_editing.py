"""Inserted nodes: their values, their origin, constants."""

from __future__ import annotations

import torch
from harness.rewriting import rewritten, targets
from torch import nn
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.editing import constant, constant_value, insert, replace

RELU, MUL = torch.ops.aten.relu.default, torch.ops.aten.mul.Tensor


def scale_relus(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target is RELU:
            one = constant(node, "the.scale", torch.ones(1, 3, 1, 1))
            assert torch.equal(constant_value(one), torch.ones(1, 3, 1, 1))
            replace(node, insert(node, MUL, insert(node, RELU, node.args[0]), one))


def test_inserted_nodes_have_values_and_the_origin_of_what_they_replace():
    layers = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Conv2d(3, 3, 1), nn.ReLU())
    x = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    graph = rewritten(layers, x, by=scale_relus, tolerance=0)
    assert targets(graph).count("aten.mul.Tensor") == 2
    made = [node for node in graph.graph.nodes if node.target is MUL]
    for node, layer in zip(made, ("1", "3"), strict=True):
        assert node.meta["val"].shape == (1, 3, 4, 5)
        assert node.meta["val"].is_contiguous(memory_format=torch.channels_last)
        assert layer in str(node.meta["nn_module_stack"])

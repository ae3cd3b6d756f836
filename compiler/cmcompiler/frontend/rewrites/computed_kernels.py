"""Convolutions with kernels that depend on inputs, as products with patches."""

from __future__ import annotations

from math import prod

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

aten = torch.ops.aten


def multiply_patches(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target is aten.conv2d.default and value_of(node.args[1]) is None:
            replace(node, _product(node))


def _product(node: Node) -> Node:
    given = named_arguments(node)
    source, weight, groups = given["input"], given["weight"], given["groups"]
    if fake(source).ndim == 3:
        source = insert(node, aten.unsqueeze.default, source, 0)
    outputs, depth, *kernel = fake(weight).shape
    sides = (given[name] for name in ("dilation", "padding", "stride"))
    patches = insert(node, aten.im2col.default, source, kernel, *map(_both, sides))
    batch, taps, count = len(fake(source)), depth * prod(kernel), fake(patches).shape[-1]
    columns = insert(node, aten.reshape.default, patches, [batch, groups, taps, count])
    rows = insert(node, aten.reshape.default, weight, [1, groups, outputs // groups, taps])
    product = insert(node, aten.matmul.default, rows, columns)
    shape = list(fake(node).shape)
    made = insert(node, aten.reshape.default, product, shape)
    if given["bias"] is None:
        return made
    bias = insert(node, aten.reshape.default, given["bias"], [-1, 1, 1])
    return insert(node, aten.add.Tensor, made, bias)


def _both(sides: list[int]) -> list[int]:
    """The numbers for height and width, if one number is for both."""
    return [*sides, *sides] if len(sides) == 1 else sides

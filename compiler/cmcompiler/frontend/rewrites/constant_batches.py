"""Makes linear layers of products of batches with constant matrices, for types but int8's."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.precision import BYTES, Patterns
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, insert, replace

_ATEN = torch.ops.aten


def split_constant_batches(module: GraphModule, precision: Patterns) -> None:
    """Multiplies each matrix of a batch by its constant one, which is the weight of a linear layer.

    Weights of layers have a scale for each channel, and types of their own; batched products have
    neither. In int8, one call for all of a batch is faster.
    """
    if not precision:
        return
    for node in list(module.graph.nodes):
        if node.target is not _ATEN.bmm.default or precision_of(node, precision) == BYTES:
            continue
        left, right = node.args
        matrices, turned = value_of(right), value_of(left)
        assert isinstance(left, Node) and isinstance(right, Node)
        if matrices is not None and turned is None:
            replace(node, _layers(node, left, matrices.transpose(1, 2)))
        elif turned is not None and matrices is None:
            columns = insert(node, _ATEN.transpose.int, right, 1, 2)
            replace(node, insert(node, _ATEN.transpose.int, _layers(node, columns, turned), 1, 2))
    module.graph.eliminate_dead_code()
    module.recompile()


def _layers(node: Node, x: Node, weights: Tensor) -> Node:
    """
    Args:
        weights: of one linear layer for each matrix.
    """
    parts = []
    for place, weight in enumerate(weights):
        part = insert(node, _ATEN.slice.Tensor, x, 0, place, place + 1)
        held = constant(node, f"{node.name}_weight_{place}", weight.contiguous())
        parts.append(insert(node, _ATEN.linear.default, part, held))
    return parts[0] if len(parts) == 1 else insert(node, _ATEN.cat.default, parts)

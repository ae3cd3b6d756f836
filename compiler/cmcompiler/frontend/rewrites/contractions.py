"""Sums of products along the last dimension as matrix products, where a row is repeated for them.

`(states * row[:, None]).sum(-1)` is the row by the transposed states: no product is rounded, or
kept until it is added.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import fake, named_arguments, replace
from cmcompiler.frontend.rewrites.traced import written

aten = torch.ops.aten

_LEAST = 4
"""Rows, and elements of one, that a product of matrices is worth."""


def multiply_sums(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        operands = _operands(node)
        if operands is not None:
            rows, row = operands
            keepdim = named_arguments(node)["keepdim"]
            replace(node, written(node, partial(_summed, keepdim), rows, row))
    module.graph.eliminate_dead_code()


def _summed(keepdim: bool, rows: Any, row: Any) -> Any:
    sums = (row @ rows.transpose(-2, -1)).squeeze(-2)
    return sums.unsqueeze(-1) if keepdim else sums


def _operands(node: Node) -> tuple[Node, Node] | None:
    """Rows, and one that all of them are multiplied by before they are summed."""
    if node.target is not aten.sum.dim_IntList or node.kwargs:
        return None
    product, given = node.all_input_nodes[0], named_arguments(node)
    is_product = product.target is aten.mul.Tensor and len(product.users) == 1
    factors = product.all_input_nodes
    if not is_product or len(factors) != 2 or any(value_of(each) is not None for each in factors):
        return None
    shapes = [fake(each).shape for each in factors]
    if any(fake(each).dtype != torch.float32 for each in factors):
        return None
    rank = len(shapes[0])
    if rank < 3 or len(shapes[1]) != rank or given["dim"] not in ([-1], [rank - 1]):
        return None
    for (rows, whole), (row, one) in (
        zip(factors, shapes, strict=True),
        zip(factors[::-1], shapes[::-1], strict=True),
    ):
        is_row = one == (*whole[:-2], 1, whole[-1])
        if is_row and min(whole[-2:]) >= _LEAST:
            return rows, row
    return None

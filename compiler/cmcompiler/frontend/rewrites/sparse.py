"""Sparse constants, as of a graph's edges, as dense ones: programs have no others."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, insert, named_arguments, replace

_ATEN = torch.ops.aten
_DENSE: dict[Any, Any] = {
    _ATEN._sparse_mm.default: _ATEN.mm.default,
    _ATEN._sparse_addmm.default: _ATEN.addmm.default,
}
"""Operators of sparse tensors, and those that compute the same of dense ones."""


def make_dense(module: GraphModule) -> None:
    """Holds sparse tensors that no input decides with all their zeros."""
    sparse = [node for node in module.graph.nodes if _is_sparse(node)]
    values = {node: value for node in sparse if (value := value_of(node)) is not None}
    for node, value in values.items():
        dense = constant(node.next, f"{node.name}_dense", value.to_dense())
        for user in list(node.users):
            if user.target is _ATEN.to_dense.default:
                replace(user, dense)
            elif value_of(user) is None:
                user.replace_input_with(node, dense)
    for node in list(module.graph.nodes):
        operands = [each.meta.get("val") for each in node.all_input_nodes]
        is_dense = all(isinstance(x, Tensor) and x.layout is torch.strided for x in operands)
        if node.target in _DENSE and is_dense:
            given = list(named_arguments(node).values())
            options = {} if len(given) < 3 else {"beta": given[3], "alpha": given[4]}
            made = insert(node, _DENSE[node.target], *given[:3], **options)
            replace(node, made)
    module.graph.eliminate_dead_code()


def _is_sparse(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.layout is not torch.strided

"""Puts the compiler's own logarithms of softmax, and of sums of exponentials, for torch's."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild


def rewrite_log_softmax(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target is aten.log_softmax.int and fake(node).dtype == torch.float32:
            given = named_arguments(node)
            if given["dtype"] is None and fake(node).ndim:
                made = insert(node, cmbuild.log_softmax.default, given["self"], given["dim"])
                replace(node, made)
        elif node.target is aten.logsumexp.default and fake(node).dtype == torch.float32:
            replace(node, _sum(node))


def _sum(node: Node) -> Node:
    given = named_arguments(node)
    rank, dims = fake(given["self"]).ndim, given["dim"]
    dims = [dims] if isinstance(dims, int) else dims
    chosen = sorted(dim % rank for dim in dims or range(rank))
    return insert(node, cmbuild.logsumexp.default, given["self"], chosen, given["keepdim"])

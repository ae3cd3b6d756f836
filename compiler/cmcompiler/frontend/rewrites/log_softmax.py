"""Puts the compiler's own logarithms of softmax, and of sums of exponentials, for torch's."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

WIDE = 32
"""Elements of a softmax, of which most are so few 256ths that its int8 result shows little."""

MASKS = {aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.add.Tensor}
MASKS |= {aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf}


def rewrite_log_softmax(module: GraphModule) -> None:
    """Also takes exponentials of them for wide softmaxes whose result is computed with."""
    for node in list(module.graph.nodes):
        if node.target is aten.softmax.int and _is_wide(node):
            logarithms = insert(node, aten.log_softmax.int, *node.args)
            replace(node, insert(node, aten.exp.default, logarithms))
    for node in list(module.graph.nodes):
        if node.target is aten.log_softmax.int and fake(node).dtype == torch.float32:
            given = named_arguments(node)
            if given["dtype"] is None and fake(node).ndim:
                made = insert(node, cmbuild.log_softmax.default, given["self"], given["dim"])
                replace(node, made)
        elif node.target is aten.logsumexp.default and fake(node).dtype == torch.float32:
            replace(node, _sum(node))


def _is_wide(node: Node) -> bool:
    source, dim = node.args[:2]
    assert isinstance(source, Node) and isinstance(dim, int)
    size, users = fake(node).shape[dim] if fake(node).ndim else 1, [node]
    for user in users:
        users += user.users if user is node or user.target in MOVEMENTS else ()
    is_result = any(user.op == "output" for user in users)
    origin = source
    while origin.target in MOVEMENTS and isinstance(origin.args[0], Node):
        origin = origin.args[0]
    return size >= WIDE and not is_result and origin.target not in MASKS and not node.kwargs


def _sum(node: Node) -> Node:
    given = named_arguments(node)
    rank, dims = fake(given["self"]).ndim, given["dim"]
    dims = [dims] if isinstance(dims, int) else dims
    chosen = sorted(dim % rank for dim in dims or range(rank))
    return insert(node, cmbuild.logsumexp.default, given["self"], chosen, given["keepdim"])

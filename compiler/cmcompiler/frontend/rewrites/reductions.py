"""Puts the compiler's own sums, running sums and means in place of torch's, which have no rule."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import arguments, fake, insert, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

IMAGE_DIMS = [2, 3]


def rewrite_reductions(module: GraphModule) -> None:
    """Replaces sums and means over any dimensions but means of images, which are pools."""
    own = {
        aten.sum.default: cmbuild.sum.default,
        aten.sum.dim_IntList: cmbuild.sum.default,
        aten.mean.default: cmbuild.mean.default,
        aten.mean.dim: cmbuild.mean.default,
    }
    for node in list(module.graph.nodes):
        if _is_running_sum(node):
            replace(node, insert(node, cmbuild.cumsum.default, *node.args))
        if node.target not in own or node.kwargs or not isinstance(node.args[0], Node):
            continue
        source, dims, keepdim = arguments(node, None, None, False)
        value = fake(source)
        if value.dtype != torch.float32 or value.ndim == 0:
            continue
        chosen = sorted(dim % value.ndim for dim in dims or range(value.ndim))
        is_pool = node.target is aten.mean.dim and value.ndim == 4 and chosen == IMAGE_DIMS
        if not is_pool:
            replace(node, insert(node, own[node.target], source, chosen, keepdim))


def _is_running_sum(node: Node) -> bool:
    if node.target is not aten.cumsum.default or node.kwargs:
        return False
    value = fake(node.all_input_nodes[0])
    return bool(value.dtype == torch.float32 and value.ndim)

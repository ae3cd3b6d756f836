"""Layers on a single sequence or image, without a batch, as layers on a batch of one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, replace
from cmcompiler.frontend.rewrites.followers import ACTIVATIONS, repeat_followers

aten = torch.ops.aten

_SEQUENCES = {
    *(aten.conv1d.default, aten.conv1d.padding, aten.conv_transpose1d.default),
    *(aten.max_pool1d.default, aten.avg_pool1d.default, aten.adaptive_avg_pool1d.default),
}
_IMAGES = {
    *(aten.conv2d.default, aten.conv2d.padding, aten.conv_transpose2d.input),
    *(aten.max_pool2d.default, aten.avg_pool2d.default, aten.adaptive_avg_pool2d.default),
}


def add_batches(module: GraphModule) -> None:
    batches: dict[Node, Node] = {}  # by what was made of each
    for node in list(module.graph.nodes):
        rank = 3 if node.target in _SEQUENCES else 4 if node.target in _IMAGES else None
        source = node.args[0] if node.args else None
        if rank is None or not isinstance(source, Node) or fake(source).dim() != rank - 1:
            continue
        if not isinstance(fake(node), Tensor):
            continue
        if source not in batches:
            batches[source] = insert(node, aten.unsqueeze.default, source, 0)
        made = insert(node, node.target, batches[source], *node.args[1:], **node.kwargs)
        last, made = repeat_followers(node, made, ACTIVATIONS)
        single = insert(last, aten.squeeze.dim, made, 0)
        batches[single] = made
        replace(last, single)
    module.graph.eliminate_dead_code()

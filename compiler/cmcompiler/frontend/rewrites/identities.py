"""Removes operators that change nothing, such as dropout in eval mode and the 0 that sum() adds."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, replace

_ATEN = torch.ops.aten

DROPOUTS = {
    _ATEN.dropout.default,
    _ATEN.dropout_.default,
    _ATEN.alpha_dropout.default,
    _ATEN.alpha_dropout_.default,
    _ATEN.feature_dropout.default,
    _ATEN.feature_dropout_.default,
    _ATEN.feature_alpha_dropout.default,
    _ATEN.feature_alpha_dropout_.default,
}
CONVERSIONS = {_ATEN.to.dtype, _ATEN.to.device, _ATEN.to.dtype_layout, _ATEN.type_as.default}
NEUTRAL = {
    _ATEN.add.Tensor: 0,
    _ATEN.sub.Tensor: 0,
    _ATEN.mul.Tensor: 1,
    _ATEN.div.Tensor: 1,
}
"""Second operands that change nothing."""
ASSERTIONS = {_ATEN._assert_tensor_metadata.default}


def remove_identities(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target in ASSERTIONS:
            module.graph.erase_node(node)
            continue
        source = next(iter(node.args), None)
        if isinstance(source, Node) and _is_identity(node, source):
            replace(node, source)


def _is_identity(node: Node, source: Node) -> bool:
    if node.target in DROPOUTS:
        return len(node.args) == 3 and not node.args[2]
    is_neutral = node.target in NEUTRAL and node.args[1] == NEUTRAL[node.target]
    if is_neutral or (node.target in CONVERSIONS and not node.kwargs.get("copy")):
        before, after = fake(source), fake(node)
        return bool(before.dtype == after.dtype and before.stride() == after.stride())
    return False

"""PReLU with a slope for each channel as an operator that is not decomposed."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import insert, is_constant, replace


def keep_prelus(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.prelu.default and is_constant(node.args[1]):
            x, slopes = node.args
            assert isinstance(x, Node) and isinstance(slopes, Node)
            replace(node, insert(node, torch.ops.cmbuild.prelu.default, x, slopes))

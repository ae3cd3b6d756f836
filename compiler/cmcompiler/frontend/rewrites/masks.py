"""Filling with zero as a choice between tensors, for which the quantizer has a rule."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    is_constant,
    replace,
)

_ATEN = torch.ops.aten
FILLS = {_ATEN.masked_fill.Scalar, _ATEN.masked_fill.Tensor}


def choose_for_masks(module: GraphModule) -> None:
    """Other numbers stay: they would share the tensor's scale, and may be far from its range."""
    for node in list(module.graph.nodes):
        if node.target in FILLS and fake(node).dtype == torch.float32 and _is_zero(node.args[2]):
            x, mask = node.args[:2]
            zero = constant(node, f"{node.name}_zero", torch.zeros(1))
            replace(node, insert(node, _ATEN.where.self, mask, zero, x))


def _is_zero(value: Any) -> bool:
    if isinstance(value, Node):
        return is_constant(value) and not constant_value(value).any()
    return bool(value == 0)

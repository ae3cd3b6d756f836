"""Puts clamps into the form and the place where the backend fuses them.

It fuses relu, hardtanh and clamp with the operator before them, if that comes directly before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import insert, replace
from cmcompiler.frontend.rewrites.functions import is_fused

_ATEN = torch.ops.aten


def arrange_clamps(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        form = _form(node)
        clamp = node if form is None else insert(node, *form)
        if form is not None:
            replace(node, clamp)
        if is_fused(clamp):
            clamp.all_input_nodes[0].append(clamp)


def _form(node: Node) -> tuple[Any, ...] | None:
    """The operator and arguments that the backend knows for a clamp, if they are others."""
    x, *bounds = node.args or (None,)
    match node.target:
        case _ATEN.relu6.default:
            return _ATEN.hardtanh.default, x, 0.0, 6.0
        case _ATEN.clamp_min.default:
            return _ATEN.clamp.default, x, bounds[0]
        case _ATEN.clamp_max.default:
            return _ATEN.clamp.default, x, None, bounds[0]
        case _ATEN.hardtanh.default if len(bounds) < 2 or bounds[1] == 1:
            # Exporting drops an upper bound that is hardtanh's own, and the backend then misses it.
            return _ATEN.clamp.default, x, *(bounds[:1] or [-1.0]), 1.0
        case _ATEN.threshold.default if bounds == [0, 0]:
            return _ATEN.relu.default, x
    return None


def bounds_of(node: Node) -> tuple[Any, Any] | None:
    """Lower and upper bound of a clamp to numbers; None if it is none."""
    defaults = {_ATEN.hardtanh.default: (-1.0, 1.0), _ATEN.clamp.default: (None, None)}
    if node.target is _ATEN.relu.default:
        return 0.0, None
    if node.target not in defaults or node.kwargs:
        return None
    bounds: list[Any] = list(node.args[1:])
    bounds += defaults[node.target][len(bounds) :]
    return bounds[0], bounds[1]

"""Puts the compiler's own variances, deviations and lengths in place of torch's."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

VARIANCES = {aten.var.default, aten.var.dim, aten.var.correction}
DEVIATIONS = {aten.std.default, aten.std.dim, aten.std.correction}


def rewrite_deviations(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        is_spread = node.target in VARIANCES | DEVIATIONS
        if not is_spread and node.target is not aten.linalg_vector_norm.default:
            continue
        if fake(node).dtype != torch.float32:
            continue
        given = named_arguments(node)
        made = _spread(node, given) if is_spread else _length(node, given)
        if made is not None:
            replace(node, made)


def _spread(node: Node, given: dict[str, Any]) -> Node | None:
    source, dims = given["self"], _dims(given)
    correction = given.get("correction", int(given.get("unbiased", True)))
    count = math.prod(fake(source).shape[dim] for dim in dims)
    divisor = float(count - (1 if correction is None else correction))
    if divisor <= 0:
        return None
    keepdim, is_root = given.get("keepdim", False), node.target in DEVIATIONS
    own = cmbuild.deviation.default
    return insert(node, own, source, dims, keepdim, divisor, True, is_root)


def _length(node: Node, given: dict[str, Any]) -> Node | None:
    if given["ord"] != 2 or given["dtype"] is not None:
        return None
    own = cmbuild.deviation.default
    return insert(node, own, given["self"], _dims(given), given["keepdim"], 1.0, False, True)


def _dims(given: dict[str, Any]) -> list[int]:
    rank, dims = fake(given["self"]).ndim, given.get("dim")
    dims = [dims] if isinstance(dims, int) else dims
    return sorted(dim % rank for dim in dims or range(rank))

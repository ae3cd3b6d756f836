"""Angles of points as arc tangents of one number, for which there are tables."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

LEAST_RADIUS = 1e-30
"""Divides instead of the larger coordinate of a point at the origin, whose angle is 0."""


def write_out_angles(module: GraphModule) -> None:
    """Spells atan2: the smaller by the larger coordinate, its arc tangent turned and mirrored."""
    for node in list(module.graph.nodes):
        if node.target is _ATEN.atan2.default and fake(node).dtype == torch.float32:
            given = named_arguments(node)
            if all(fake(given[name]).dtype == torch.float32 for name in ("self", "other")):
                replace(node, _angle(node, given["self"], given["other"]))


def _angle(node: Node, y: Node, x: Node) -> Node:
    def made(operator: Any, *arguments: Any) -> Node:
        return insert(node, operator, *arguments)

    sizes = [made(_ATEN.abs.default, each) for each in (y, x)]
    larger = made(_ATEN.clamp_min.default, made(_ATEN.maximum.default, *sizes), LEAST_RADIUS)
    share = made(_ATEN.div.Tensor, made(_ATEN.minimum.default, *sizes), larger)
    near = made(_ATEN.atan.default, share)
    is_steep = made(_ATEN.gt.Tensor, *sizes)
    acute = _chosen(node, is_steep, made(_ATEN.rsub.Scalar, near, math.pi / 2), near)
    is_left = made(_ATEN.lt.Scalar, x, 0.0)
    upper = _chosen(node, is_left, made(_ATEN.rsub.Scalar, acute, math.pi), acute)
    is_below = made(_ATEN.lt.Scalar, y, 0.0)
    return _chosen(node, is_below, made(_ATEN.neg.default, upper), upper)


def _chosen(node: Node, condition: Node, one: Node, other: Node) -> Node:
    return insert(node, _ATEN.where.self, condition, one, other)

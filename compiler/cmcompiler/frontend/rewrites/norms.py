"""Puts the compiler's own norms in place of torch's, which the backend would decompose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import arguments, fake, insert, is_constant, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

FLOAT_EPSILON = torch.finfo(torch.float32).eps
"""The default epsilon of rms_norm."""


def rewrite_norms(module: GraphModule) -> None:
    """Replaces layer, group, instance and RMS norms whose parameters are constant."""
    for node in list(module.graph.nodes):
        make = _MAKERS.get(node.target)
        made = make(node) if make is not None else None
        if made is not None:
            replace(node, made)


def _layer_norm(node: Node) -> Node | None:
    x, shape, weight, bias, eps = arguments(node, None, None, None, None, 1e-5)
    if not _are_constant(weight, bias):
        return None
    return insert(node, cmbuild.layer_norm.default, x, _last(x, shape), weight, bias, eps)


def _rms_norm(node: Node) -> Node | None:
    x, shape, weight, eps = arguments(node, None, None, None, None)
    if not _are_constant(weight):
        return None
    return insert(node, cmbuild.rms_norm.default, x, _last(x, shape), weight, eps or FLOAT_EPSILON)


def _last(x: Node, shape: list[int]) -> list[int]:
    rank = fake(x).ndim
    return list(range(rank - len(shape), rank))


def _group_norm(node: Node) -> Node | None:
    x, groups, weight, bias, eps = arguments(node, None, None, None, None, 1e-5)
    if not _are_constant(weight, bias):
        return None
    return insert(node, cmbuild.group_norm.default, x, groups, weight, bias, eps)


def _instance_norm(node: Node) -> Node | None:
    defaults = (None, None, None, None, None, True, 0.1, 1e-5)
    x, weight, bias, _, _, uses_input, _, eps = arguments(node, *defaults)
    if not uses_input or not _are_constant(weight, bias):
        return None
    channels = fake(x).shape[1]
    return insert(node, cmbuild.group_norm.default, x, channels, weight, bias, eps)


def _are_constant(*parameters: Any) -> bool:
    return all(parameter is None or is_constant(parameter) for parameter in parameters)


_MAKERS: dict[Any, Callable[[Node], Node | None]] = {
    aten.layer_norm.default: _layer_norm,
    aten.rms_norm.default: _rms_norm,
    aten.group_norm.default: _group_norm,
    aten.instance_norm.default: _instance_norm,
}

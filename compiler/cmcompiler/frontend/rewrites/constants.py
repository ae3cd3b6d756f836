"""The values of nodes that depend on constants alone."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.editing import constant_value, is_constant

_COPIES = (torch.ops.aten.lift_fresh_copy.default, torch.ops.aten.detach_.default)


def value_of(node: Any) -> Tensor | None:
    """What a node computes from parameters, buffers and numbers; None if from inputs too."""
    values: dict[Node, Tensor | None] = {}
    return _value(node, values) if isinstance(node, Node) else None


def number_of(given: Any) -> float | int | bool | None:
    """A number itself, or that of a constant of one element; None if it is none, or NaN."""
    while isinstance(given, Node) and given.target in _COPIES:
        given = given.args[0]
    if is_constant(given):
        value = constant_value(given)
        given = value.item() if value.numel() == 1 else None
    is_number = isinstance(given, float | int | bool) and not math.isnan(given)
    return given if is_number else None


def _value(node: Node, values: dict[Node, Tensor | None]) -> Tensor | None:
    if node not in values:
        values[node] = constant_value(node) if is_constant(node) else _computed(node, values)
    return values[node]


def _computed(node: Node, values: dict[Node, Tensor | None]) -> Tensor | None:
    target = node.target
    if not isinstance(target, OpOverload) or target._schema.is_mutable:
        return None
    if torch.Tag.nondeterministic_seeded in target.tags:
        return None
    if any(_value(source, values) is None for source in node.all_input_nodes):
        return None
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    with torch.no_grad():
        result = target(*args, **kwargs)
    return result if isinstance(result, Tensor) else None

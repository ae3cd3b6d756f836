"""Batch normalisation with fixed statistics, which scales and shifts each channel.

It becomes part of the layer before or after it, or else a convolution of its own: one factor per
channel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    insert_named,
    is_constant,
    named_arguments,
    replace,
)

aten = torch.ops.aten

_CONVOLUTIONS = {aten.conv2d.default, aten.conv2d.padding}
_LAYERS = {*_CONVOLUTIONS, aten.linear.default, aten.conv_transpose2d.input}


@dataclass(frozen=True, slots=True)
class _Affine:
    """factors · x + offsets, per channel."""

    factors: Tensor
    offsets: Tensor


def fold_batch_norms(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is not aten.batch_norm.default:
            continue
        affine = _affine(node)
        if affine is None:
            continue
        source, users = node.all_input_nodes[0], list(node.users)
        if _is_layer(source) and len(source.users) == 1 and fake(node).dim() in (2, 4):
            _fold_back(source, affine)
            replace(node, source)
        elif len(users) == 1 and _adds_no_margin(users[0], node):
            _fold_forward(users[0], affine)
            replace(node, source)
        else:
            replace(node, _by_convolution(node, source, affine))


def _affine(node: Node) -> _Affine | None:
    given = named_arguments(node)
    names = ("weight", "bias", "running_mean", "running_var")
    held = [given[name] for name in names]
    if given["training"] or not all(node is None or is_constant(node) for node in held):
        return None
    weight, bias, mean, variance = (None if n is None else constant_value(n).double() for n in held)
    if mean is None or variance is None:
        return None
    factors = (variance + given["eps"]).rsqrt() * (1 if weight is None else weight)
    return _Affine(factors, (0 if bias is None else bias) - mean * factors)


def _is_layer(node: Node) -> bool:
    """Whether a node has weights that can be changed."""
    if node.target not in _LAYERS:
        return False
    given = named_arguments(node)
    return is_constant(given["weight"]) and (given["bias"] is None or is_constant(given["bias"]))


def _adds_no_margin(user: Node, node: Node) -> bool:
    """Whether a layer sees only what the normalisation computes."""
    if not _is_layer(user) or user.args[0] is not node:
        return False
    given = named_arguments(user)
    if user.target is aten.linear.default:
        return bool(fake(node).dim() == 2)
    is_ungrouped = given["groups"] == 1 and user.target in _CONVOLUTIONS
    return is_ungrouped and given["padding"] in ("valid", [0, 0], (0, 0))


def _fold_back(layer: Node, affine: _Affine) -> None:
    given = named_arguments(layer)
    weight = constant_value(given["weight"]).double()
    if layer.target is aten.conv_transpose2d.input:
        grouped = weight.reshape(given["groups"], -1, *weight.shape[1:])
        factors = affine.factors.reshape(given["groups"], 1, -1, 1, 1)
        scaled = (grouped * factors).reshape(weight.shape)
    else:
        scaled = weight * affine.factors.reshape(-1, *[1] * (weight.dim() - 1))
    bias = _bias(layer) * affine.factors + affine.offsets
    _set(layer, scaled, bias)


def _fold_forward(layer: Node, affine: _Affine) -> None:
    weight = constant_value(named_arguments(layer)["weight"]).double()
    scaled = weight * affine.factors.reshape(1, -1, *[1] * (weight.dim() - 2))
    places = weight.sum(list(range(2, weight.dim()))) if weight.dim() > 2 else weight
    _set(layer, scaled, _bias(layer) + places @ affine.offsets)


def _bias(layer: Node) -> Tensor | float:
    bias = named_arguments(layer)["bias"]
    return 0.0 if bias is None else constant_value(bias).double()


def _set(layer: Node, weight: Tensor, bias: Tensor) -> None:
    """Gives a layer new weights; others may share the old ones."""
    held = (
        constant(layer, f"{layer.name}_{role}", value.float())
        for role, value in (("weight", weight), ("bias", bias))
    )
    layer.args = (layer.args[0], *held, *layer.args[3:])


def _by_convolution(node: Node, source: Node, affine: _Affine) -> Node:
    rank, channels = fake(node).dim(), affine.factors.numel()
    image = source
    for _ in range(rank, 4):
        image = insert(node, aten.unsqueeze.default, image, 2)
    given = {
        "input": image,
        "weight": constant(
            node, f"{node.name}_factors", affine.factors.float()[:, None, None, None]
        ),
        "bias": constant(node, f"{node.name}_offsets", affine.offsets.float()),
        "groups": channels,
    }
    made = insert_named(node, aten.conv2d.default, given)
    for _ in range(rank, 4):
        made = insert(node, aten.squeeze.dim, made, 2)
    return made

"""Batch normalisation with fixed statistics, which scales and shifts each channel.

It becomes part of the layer before or after it, or else a convolution of its own: one factor per
channel.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.channels import (
    CONVOLUTIONS,
    ChannelScaling,
    bias_of,
    by_convolution,
    fold_back,
    is_layer,
    set_parameters,
)
from cmcompiler.frontend.rewrites.editing import (
    constant_value,
    fake,
    is_constant,
    named_arguments,
    replace,
)

aten = torch.ops.aten


def fold_batch_norms(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is not aten.batch_norm.default:
            continue
        affine = affine_of(node)
        if affine is None:
            continue
        source, users = node.all_input_nodes[0], list(node.users)
        if is_layer(source) and len(source.users) == 1 and fake(node).dim() in (2, 4):
            fold_back(source, affine)
            replace(node, source)
        elif len(users) == 1 and _adds_no_margin(users[0], node):
            _fold_forward(users[0], affine)
            replace(node, source)
        else:
            replace(node, by_convolution(node, source, affine))


def affine_of(node: Node) -> ChannelScaling | None:
    """Factors and offsets of a normalisation, if its statistics are fixed."""
    given = named_arguments(node)
    names = ("weight", "bias", "running_mean", "running_var")
    held = [given[name] for name in names]
    if given["training"] or not all(node is None or is_constant(node) for node in held):
        return None
    weight, bias, mean, variance = (None if n is None else constant_value(n).double() for n in held)
    if mean is None or variance is None:
        return None
    factors = (variance + given["eps"]).rsqrt() * (1 if weight is None else weight)
    return ChannelScaling(factors, (0 if bias is None else bias) - mean * factors)


def _adds_no_margin(user: Node, node: Node) -> bool:
    """Whether a layer sees only what the normalisation computes."""
    if not is_layer(user) or user.args[0] is not node:
        return False
    given = named_arguments(user)
    if user.target is aten.linear.default:
        return bool(fake(node).dim() == 2)
    is_ungrouped = given["groups"] == 1 and user.target in CONVOLUTIONS
    return is_ungrouped and given["padding"] in ("valid", [0, 0], (0, 0))


def _fold_forward(layer: Node, affine: ChannelScaling) -> None:
    weight = constant_value(named_arguments(layer)["weight"]).double()
    scaled = weight * affine.factors.reshape(1, -1, *[1] * (weight.dim() - 2))
    places = weight.sum(list(range(2, weight.dim()))) if weight.dim() > 2 else weight
    set_parameters(layer, scaled, bias_of(layer) + places @ affine.offsets)

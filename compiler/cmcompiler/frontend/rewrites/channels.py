"""Scales and shifts the channels of a tensor by constants.

The layer that made the tensor takes them into its weights if it can; otherwise they become a
convolution of their own: one factor per channel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    insert_named,
    is_constant,
    named_arguments,
)

aten = torch.ops.aten

CONVOLUTIONS = {aten.conv2d.default, aten.conv2d.padding}
LAYERS = {*CONVOLUTIONS, aten.linear.default, aten.conv_transpose2d.input}


@dataclass(frozen=True, slots=True)
class ChannelScaling:
    """factors · x + offsets, per channel."""

    factors: Tensor
    offsets: Tensor


def is_layer(node: Node) -> bool:
    """Whether a node has weights that can be changed."""
    if node.target not in LAYERS:
        return False
    given = named_arguments(node)
    return is_constant(given["weight"]) and (given["bias"] is None or is_constant(given["bias"]))


def fold_back(layer: Node, affine: ChannelScaling) -> None:
    given = named_arguments(layer)
    weight = constant_value(given["weight"]).double()
    if layer.target is aten.conv_transpose2d.input:
        grouped = weight.reshape(given["groups"], -1, *weight.shape[1:])
        factors = affine.factors.reshape(given["groups"], 1, -1, 1, 1)
        scaled = (grouped * factors).reshape(weight.shape)
    else:
        scaled = weight * affine.factors.reshape(-1, *[1] * (weight.dim() - 1))
    bias = bias_of(layer) * affine.factors + affine.offsets
    set_parameters(layer, scaled, bias)


def by_convolution(node: Node, source: Node, affine: ChannelScaling) -> Node:
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


def bias_of(layer: Node) -> Tensor | float:
    bias = named_arguments(layer)["bias"]
    return 0.0 if bias is None else constant_value(bias).double()


def set_parameters(layer: Node, weight: Tensor, bias: Tensor) -> None:
    """Gives a layer new weights; others may share the old ones."""
    held = (
        constant(layer, f"{layer.name}_{role}", value.float())
        for role, value in (("weight", weight), ("bias", bias))
    )
    layer.args = (layer.args[0], *held, *layer.args[3:])

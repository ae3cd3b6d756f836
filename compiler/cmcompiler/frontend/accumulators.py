"""Keeps biases within the 32 bits of an accumulator. Importing it imports torch.

A bias is stored in steps of input scale · weight scale. Channels of small weights have a small
scale, and pruned ones the smallest that there is, so 2.5 may be billions of steps. Larger weights'
scales cost nothing then: the weights still are far finer than a step of the result.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    DerivedObserverOrFakeQuantize,
    MinMaxObserver,
    PerChannelMinMaxObserver,
)

from cmcompiler.frontend.gates import SLOPE, gate_of
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant
from cmcompiler.frontend.rewrites.functions import FUSED

LARGEST_PRODUCT = 255 * 128
"""Product of an element's distance from the zero point and a weight."""

_INT32_MAX = 2**31 - 1
_ROUNDING = 1 - 1e-6
"""Scales are multiplied in single precision."""


def make_room_for_biases(prepared: GraphModule) -> None:
    """Raises the scales of weights that biases of their layers would be too many steps of."""
    for node in list(prepared.graph.nodes):
        if node.target in LAYERS:
            _make_room(node)
    prepared.graph.eliminate_dead_code()
    prepared.recompile()


def _make_room(layer: Node) -> None:
    bias = layer.args[2] if len(layer.args) > 2 else None
    if not isinstance(bias, Node) or bias.op != "call_module":
        return
    derived, (value,) = observer_of(bias), bias.all_input_nodes
    if not isinstance(derived, DerivedObserverOrFakeQuantize) or not is_constant(value):
        return
    source, weights = derived.obs_or_fqs
    if not isinstance(weights, MinMaxObserver | PerChannelMinMaxObserver):
        return
    most, step = _most(layer), float(source.calculate_qparams()[0])
    held = constant_value(value)
    seen = held.clamp(-(largest := _largest(layer, most)), largest)
    if not torch.equal(seen, held):
        bias.args = (constant(bias, f"{layer.name}_seen", seen),)
    extremes = torch.maximum(seen.abs(), (seen + _added(layer)).abs())
    _raise(weights, extremes.double() / (step * most))


def _added(layer: Node) -> float:
    """The constant that lowering adds to the bias of a layer for a hardsigmoid after it."""
    (user, *others) = layer.users
    held = list(user.users)
    if others or user.target is not torch.ops.aten.hardsigmoid.default or not held:
        return 0.0
    if held[0].op != "call_module":
        return 0.0
    scale, zero_point = observer_of(held[0]).calculate_qparams()
    return gate_of(float(scale), int(zero_point)).rest


def _largest(layer: Node, most: float) -> float:
    """The size from where on a bias gives the least or largest result, whatever is added.

    With a larger one, a step of the accumulator could be more than one of the result, and shifting
    the accumulator to the left might leave 32 bits.
    """
    return step_of_result(layer) * most / 4


def step_of_result(layer: Node) -> float:
    """A step of the integers that a layer computes, with what is fused into it.

    Infinite if nothing rounds the result.
    """
    node, slope = layer, 1.0
    while len(node.users) == 1:
        (node,) = node.users
        if node.op == "call_module":
            return float(observer_of(node).calculate_qparams()[0]) * slope
        if node.target not in FUSED:
            break
        slope = SLOPE if node.target is torch.ops.aten.hardsigmoid.default else slope
    return math.inf


def _most(layer: Node) -> float:
    """Steps that a bias of a layer can have, with room for the sum of its products."""
    weight = layer.args[1]
    assert isinstance(weight, Node)
    held = weight.args[0] if weight.op == "call_module" else weight
    assert isinstance(held, Node)
    sizes = constant_value(held).shape
    is_transposed = layer.target is torch.ops.aten.conv_transpose2d.input
    products = sizes.numel() // sizes[1 if is_transposed else 0]
    return max(_INT32_MAX - LARGEST_PRODUCT * products, _INT32_MAX // 2) * _ROUNDING


def _raise(weights: MinMaxObserver | PerChannelMinMaxObserver, least: Tensor) -> None:
    """Makes scales of weights no smaller than those of channels, or than the largest of them."""
    scale, _ = weights.calculate_qparams()
    if scale.numel() == 1:
        least = least.amax()
    known = weights.max_val
    largest = (least * (weights.quant_max - weights.quant_min) / 2).to(known).reshape(known.shape)
    is_short = (least > scale.double()).reshape(known.shape)
    weights.max_val = torch.where(is_short, largest, known)

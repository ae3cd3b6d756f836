"""Sums, differences, products and quotients that the backend has no rule for.

It has one for tensors of the same shape, and some others that depend on memory layout.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.channels import (
    ChannelScaling,
    by_convolution,
    fold_back,
    is_layer,
)
from cmcompiler.frontend.rewrites.clamps import bounds_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    is_constant,
    replace,
)

_ATEN, _OWN = torch.ops.aten, torch.ops.cmbuild

SUMS = {_ATEN.add.Tensor: 1, _ATEN.sub.Tensor: -1}
PRODUCTS = {_ATEN.mul.Tensor}
QUOTIENTS = {_ATEN.div.Tensor, _ATEN.true_divide.Tensor}


def replace_broadcasts(module: GraphModule) -> None:
    """Leaves sums of tensors of one shape, and the like, to the backend."""
    for node in list(module.graph.nodes):
        if _is_of_two_floats(node):
            made = _replacement(node)
            if made is not None:
                replace(node, made)
                _take_clamp(made)


def _is_of_two_floats(node: Node) -> bool:
    if node.target not in {*SUMS, *PRODUCTS, *QUOTIENTS, _ATEN.rsub.Tensor}:
        return False
    values = [fake(each) if isinstance(each, Node) else None for each in (*node.args[:2], node)]
    return all(isinstance(each, Tensor) and each.dtype == torch.float32 for each in values)


def _replacement(node: Node) -> Node | None:
    x, y = node.args[:2]
    assert isinstance(x, Node) and isinstance(y, Node)
    alpha: Any = node.kwargs.get("alpha", 1)
    if node.target is _ATEN.rsub.Tensor:
        return _sum(node, y, x, -alpha)
    if node.target in SUMS:
        return _sum(node, x, y, SUMS[node.target] * alpha)
    if node.target in PRODUCTS:
        return _product(node, y, x) if is_constant(x) else _product(node, x, y)
    if is_constant(y):
        return _product(node, x, constant(node, f"{node.name}_inverse", 1 / constant_value(y)))
    return None if _have_one_shape(x, y) else insert(node, _OWN.div.default, x, y)


def _sum(node: Node, x: Node, y: Node, factor: Any) -> Node | None:
    """x + factor · y"""
    if is_constant(x) and factor == 1:
        x, y = y, x
    if is_constant(y):
        dim = -1 if x.target is _ATEN.linear.default else 1
        offsets = _numbers(constant_value(y) * factor, x, dim)
        if offsets is not None and is_layer(x) and len(x.users) == 1:
            fold_back(x, ChannelScaling(torch.ones_like(offsets), offsets))
            return x
        if offsets is not None and _is_image(x):
            return by_convolution(node, x, ChannelScaling(torch.ones_like(offsets), offsets))
    if _have_one_shape(x, y) and isinstance(factor, int):
        return None
    return insert(node, _OWN.add.default, x, y, float(factor))


def _take_clamp(node: Node) -> None:
    """Makes a clamp after a sum a part of it."""
    users = list(node.users)
    if node.target is not _OWN.add.default or len(users) != 1:
        return
    bounds = bounds_of(users[0])
    if bounds is not None:
        node.args = (*node.args, *bounds)
        replace(users[0], node)


def _product(node: Node, x: Node, y: Node) -> Node | None:
    factors = _numbers(constant_value(y), x, 1) if is_constant(y) else None
    if factors is not None:
        affine = ChannelScaling(factors, torch.zeros_like(factors))
        # The weights of a linear layer share one scale.
        if is_layer(x) and x.target is not _ATEN.linear.default and len(x.users) == 1:
            fold_back(x, affine)
            return x
        if _is_image(x):
            return by_convolution(node, x, affine)
    return None if _have_one_shape(x, y) else insert(node, _OWN.mul.default, x, y)


def _numbers(value: Tensor, x: Node, dim: int) -> Tensor | None:
    """One for each index of a dimension of x, if the value depends on that only."""
    shape = fake(x).shape
    if value.ndim > len(shape) or not -len(shape) <= dim < len(shape):
        return None
    own = (1,) * (len(shape) - value.ndim) + tuple(value.shape)
    is_along = own[dim] == shape[dim] and value.numel() == shape[dim]
    return value.flatten() if is_along else None


def _is_image(x: Node) -> bool:
    """Whether it has channels, innermost in memory."""
    value = fake(x)
    return bool(value.ndim == 4 and value.is_contiguous(memory_format=torch.channels_last))


def _have_one_shape(x: Node, y: Node) -> bool:
    return bool(fake(x).shape == fake(y).shape)

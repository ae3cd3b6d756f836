"""Reductions of elements by an index, scatter_reduce, in terms of choices and sums."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    named_arguments,
    replace,
)

_ATEN = torch.ops.aten

MOST_CHOICES = 1 << 16
"""Elements of a tensor with each result in one dimension, and what it may be in another."""

_EXTREMES = {
    "amax": (_ATEN.amax.default, _ATEN.amin.default, _ATEN.maximum.default),
    "amin": (_ATEN.amin.default, _ATEN.amax.default, _ATEN.minimum.default),
}
"""The reduction, the one whose result is never better, and the operator that combines two."""


def spell_scatter_reductions(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target is _ATEN.scatter_reduce.two and fake(node).dtype == torch.float32:
            made = _reduced(node, named_arguments(node))
            if made is not None:
                replace(node, made)


def _reduced(node: Node, given: dict[str, Any]) -> Node | None:
    source, index, rank = given["src"], given["index"], fake(node).ndim
    dim = given["dim"] % max(rank, 1)
    sizes = list(fake(index).shape)
    others = [size for axis, size in enumerate(fake(node).shape) if axis != dim]
    if rank == 0 or [size for axis, size in enumerate(sizes) if axis != dim] != others:
        return None
    for axis, size in enumerate(sizes):
        if fake(source).shape[axis] != size:
            source = insert(node, _ATEN.slice.Tensor, source, axis, 0, size)
    if given["reduce"] in _EXTREMES:
        return _extreme(node, given, source, dim)
    if given["reduce"] == "prod":
        return _multiplied(node, given, source, dim)
    if given["reduce"] not in ("sum", "mean"):
        return None
    start = given["self"]
    ones = constant(node, f"{node.name}_ones", torch.ones(1))
    ones = insert(node, _ATEN.expand.default, ones, sizes)
    zeros = constant(node, f"{node.name}_zeros", torch.zeros(fake(node).shape))
    is_mean, is_included = given["reduce"] == "mean", given["include_self"]
    counts = None
    if is_mean or not is_included:
        counts = insert(node, _ATEN.scatter_add.default, zeros, dim, index, ones)
    if not is_included:
        is_touched = insert(node, _ATEN.gt.Scalar, counts, 0.5)
        start = insert(node, _ATEN.where.self, is_touched, zeros, start)
    sums = insert(node, _ATEN.scatter_add.default, start, dim, index, source)
    if not is_mean:
        return sums
    if is_included:
        counts = insert(node, _ATEN.add.Tensor, counts, 1.0)
    return insert(node, _ATEN.div.Tensor, sums, insert(node, _ATEN.clamp_min.default, counts, 1.0))


def _extreme(node: Node, given: dict[str, Any], source: Node, dim: int) -> Node | None:
    """The extreme of each result's own elements, in a dimension next to that of results."""
    start, is_own = given["self"], _owners(node, given["index"], dim)
    if is_own is None:
        return None
    reduce, bound, combine = _EXTREMES[given["reduce"]]
    if given["include_self"]:
        other = insert(node, _ATEN.unsqueeze.default, start, dim + 1)
    else:
        worst = insert(node, bound, source, [dim], True)
        other = insert(node, _ATEN.unsqueeze.default, worst, dim)
    spread = insert(node, _ATEN.unsqueeze.default, source, dim)
    choices = insert(node, _ATEN.where.self, is_own, spread, other)
    extreme = insert(node, reduce, choices, [dim + 1])
    if given["include_self"]:
        return insert(node, combine, extreme, start)
    is_touched = insert(node, _ATEN.any.dim, is_own, dim + 1)
    return insert(node, _ATEN.where.self, is_touched, extreme, start)


def _multiplied(node: Node, given: dict[str, Any], source: Node, dim: int) -> Node | None:
    """The product of each result's own elements."""
    start, is_own = given["self"], _owners(node, given["index"], dim)
    if is_own is None:
        return None
    spread = insert(node, _ATEN.unsqueeze.default, source, dim)
    factors = insert(node, _ATEN.where.ScalarOther, is_own, spread, 1.0)
    product = insert(node, _ATEN.prod.dim_int, factors, dim + 1)
    if given["include_self"]:
        return insert(node, _ATEN.mul.Tensor, product, start)
    is_touched = insert(node, _ATEN.any.dim, is_own, dim + 1)
    return insert(node, _ATEN.where.self, is_touched, product, start)


def _owners(node: Node, index: Node, dim: int) -> Node | None:
    """Which elements each result is made of; None if that would be too many to say."""
    count, shape = fake(node).shape[dim], [1] * (fake(node).ndim + 1)
    if fake(index).numel() * count > MOST_CHOICES:
        return None
    shape[dim] = count
    every = constant(node, f"{node.name}_every", torch.arange(count).reshape(shape))
    return insert(node, _ATEN.eq.Tensor, insert(node, _ATEN.unsqueeze.default, index, dim), every)

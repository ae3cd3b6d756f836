"""Reductions of elements by an index, scatter_reduce, in terms of choices and sums."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.traced import apply_rules, held

_ATEN = torch.ops.aten

MOST_CHOICES = 1 << 16
"""Elements of a tensor with each result in one dimension, and what it may be in another."""

_EXTREMES = {
    "amax": (torch.amax, torch.amin, torch.maximum),
    "amin": (torch.amin, torch.amax, torch.minimum),
}
"""The reduction, the one whose result is never better, and the operator that combines two."""


def spell_scatter_reductions(module: GraphModule) -> None:
    apply_rules(module, {_ATEN.scatter_reduce.two: _reduced})


def _reduced(
    self: Any, dim: int, *, index: Any, src: Any, reduce: str, include_self: bool, out: Any
) -> Any:
    dim, sizes = dim % max(out.ndim, 1), list(index.shape)
    others = [size for axis, size in enumerate(out.shape) if axis != dim]
    is_float = out.dtype == torch.float32 and out.ndim > 0
    if not is_float or [size for axis, size in enumerate(sizes) if axis != dim] != others:
        return None
    for axis, size in enumerate(sizes):
        if src.shape[axis] != size:
            src = src.narrow(axis, 0, size)
    if reduce in ("sum", "mean"):
        return _summed(self, dim, index, src, is_mean=reduce == "mean", is_included=include_self)
    is_own = _owners(index, dim, out)
    if is_own is None:
        return None
    if reduce == "prod":
        return _multiplied(self, dim, is_own, src, is_included=include_self)
    return _extreme(self, dim, is_own, src, reduce=reduce, is_included=include_self)


def _summed(
    self: Any, dim: int, index: Any, source: Any, *, is_mean: bool, is_included: bool
) -> Any:
    zeros: Any = torch.zeros(self.shape)
    counts: Any = None
    if is_mean or not is_included:
        ones = held(index, torch.ones(1)).expand(list(index.shape))
        counts = torch.scatter_add(zeros, dim, index, ones)
    start = self if is_included else torch.where(counts > 0.5, zeros, self)
    sums = start.scatter_add(dim, index, source)
    if not is_mean:
        return sums
    if is_included:
        counts = counts + 1.0
    return sums / counts.clamp_min(1.0)


def _extreme(
    self: Any, dim: int, is_own: Any, source: Any, *, reduce: str, is_included: bool
) -> Any:
    """The extreme of each result's own elements, in a dimension next to that of results."""
    extreme_of, bound, combine = _EXTREMES[reduce]
    other = self.unsqueeze(dim + 1) if is_included else bound(source, [dim], True).unsqueeze(dim)
    extreme = extreme_of(torch.where(is_own, source.unsqueeze(dim), other), [dim + 1])
    if is_included:
        return combine(extreme, self)
    return torch.where(is_own.any(dim + 1), extreme, self)


def _multiplied(self: Any, dim: int, is_own: Any, source: Any, *, is_included: bool) -> Any:
    """The product of each result's own elements."""
    product = torch.where(is_own, source.unsqueeze(dim), 1.0).prod(dim + 1)
    return product * self if is_included else torch.where(is_own.any(dim + 1), product, self)


def _owners(index: Any, dim: int, out: Any) -> Any:
    """Which elements each result is made of; None if that would be too many to say."""
    count, shape = out.shape[dim], [1] * (out.ndim + 1)
    if index.numel() * count > MOST_CHOICES:
        return None
    shape[dim] = count
    return index.unsqueeze(dim).eq(torch.arange(count).reshape(shape))

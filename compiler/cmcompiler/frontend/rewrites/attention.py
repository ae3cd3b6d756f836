"""Puts the compiler's own attention in place of torch's, which the backend would decompose."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    arguments,
    constant,
    fake,
    insert,
    replace,
)
from cmcompiler.frontend.rewrites.masks import sentinel_of
from cmcompiler.frontend.rewrites.written_attention import spell_attention

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild


def rewrite_attention(module: GraphModule) -> None:
    """Replaces scaled dot product attention."""
    spell_attention(module)
    for node in list(module.graph.nodes):
        if node.target is aten.scaled_dot_product_attention.default:
            made = _attention(node)
            if made is not None:
                replace(node, made)


def _attention(node: Node) -> Node | None:
    defaults = (None, None, None, None, 0.0, False)
    query, key, value, mask, dropout, is_causal = arguments(node, *defaults)
    batch, other = (tuple(fake(x).shape[:-2]) for x in (query, key))
    is_grouped = bool(node.kwargs.get("enable_gqa"))
    if dropout or fake(value).shape[:-2] != other or not _share(batch, other, is_grouped):
        return None
    depth = fake(query).shape[-1]
    scale = node.kwargs.get("scale") or 1 / math.sqrt(depth)
    matrices = [_matrices(node, x) for x in (query, key, value)]
    rows, keys = fake(matrices[0]).shape[1], fake(matrices[1]).shape[1]
    operator = cmbuild.attention.default
    added: tuple[Any, ...] = ()
    sentinel = sentinel_of(node, -math.inf)
    if is_causal:
        mask = constant(node, "causal_mask", torch.full((1, rows, keys), -math.inf).triu(1))
    elif (value := value_of(mask)) is not None:
        mask = constant(node, "mask", _as_matrices(_additive(value), batch))
    elif isinstance(mask, Node) and fake(mask).dtype == torch.bool:
        mask = _computed_mask(node, mask, batch)
        operator, added = cmbuild.masked_attention.default, sentinel
    elif isinstance(mask, Node) and (parts := _parts(mask)) is not None:
        kept, moderate = parts
        mask = _computed_mask(node, kept, batch)
        added = (*sentinel, constant(node, "added", _as_matrices(moderate, batch)))
        operator = cmbuild.masked_attention.default
    elif isinstance(mask, Node) and fake(mask).dtype == torch.float32:
        mask = _computed_mask(node, mask, batch)
        operator = cmbuild.biased_attention.default
    elif mask is not None:
        return None
    made = insert(node, operator, *matrices, mask, scale, *added)
    return insert(node, aten.view.default, made, list(fake(node).shape))


def _share(batch: tuple[int, ...], other: tuple[int, ...], is_grouped: bool) -> bool:
    """Whether consecutive matrices of queries have the same keys."""
    return batch == other or (is_grouped and batch[:-1] == other[:-1])


def _matrices(node: Node, x: Node) -> Node:
    """With one dimension of batches."""
    shape = fake(x).shape
    return insert(node, aten.reshape.default, x, [math.prod(shape[:-2]), *shape[-2:]])


def _parts(mask: Node) -> tuple[Node, Tensor] | None:
    """The condition and the constant of a choice between a constant and minus infinity."""
    if mask.target is not aten.where.ScalarOther or mask.args[2] != -math.inf:
        return None
    kept, added = mask.args[:2]
    value = value_of(added)
    return None if value is None or not isinstance(kept, Node) else (kept, value)


def _additive(mask: Tensor) -> Tensor:
    return torch.where(mask, 0.0, -math.inf) if mask.dtype == torch.bool else mask


def _as_matrices(mask: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A mask that broadcasts to scores, as [1 or batch, 1 or rows, keys]."""
    leading = mask.shape[:-2]
    if math.prod(leading) > 1:
        mask = mask.expand(*batch, *mask.shape[-2:])
    return mask.reshape(-1, *mask.shape[-2:])


def _computed_mask(node: Node, mask: Node, batch: tuple[int, ...]) -> Node:
    """The mask that the program computes, in the form of a constant one."""
    shape = list(fake(mask).shape)
    if math.prod(shape[:-2]) > 1:
        shape = [*batch, *shape[-2:]]
        mask = insert(node, aten.expand.default, mask, shape)
    return insert(node, aten.reshape.default, mask, [math.prod(shape[:-2]), *shape[-2:]])

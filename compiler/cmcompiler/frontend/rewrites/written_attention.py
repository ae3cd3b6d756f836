"""Makes torch's own attention of products and a softmax that spell it out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import arguments, constant, fake, insert, replace
from cmcompiler.frontend.rewrites.masks import CHOICES, FILLS, SENTINEL, Sentinel, sentinel_of

aten = torch.ops.aten

PRODUCTS = (aten.matmul.default, aten.bmm.default)
SOFTMAXES = (aten.softmax.int, aten._softmax.default)

NEVER = -1e4
"""A score that gives its key no weight beside others."""


@dataclass(slots=True)
class _Scores:
    """Properties of scores on the way from the softmax to their product.

    Attributes:
        scale: of the product.
        added: constants, by number or tensor, in units of the softmax's input.
        allowed: bool tensors of the program: keys that count.
        sentinel: what the scores of the others are.
    """

    scale: float = 1.0
    added: list[Tensor] = field(default_factory=list)
    allowed: list[Node] = field(default_factory=list)
    sentinel: Sentinel = field(default_factory=lambda: Sentinel(-math.inf))


def spell_attention(module: GraphModule) -> None:
    """Replaces softmax(scale · queries × keys + masks) × values by scaled_dot_product_attention."""
    module.graph.eliminate_dead_code()
    for node in list(module.graph.nodes):
        if node.target in PRODUCTS:
            made = _attention(node)
            if made is not None:
                replace(node, made)


def _attention(node: Node) -> Node | None:
    softmax, value = node.args
    assert isinstance(softmax, Node) and isinstance(value, Node)
    if softmax.target not in SOFTMAXES or not _is_over_keys(softmax):
        return None
    scores = _Scores()
    product = _product(node, softmax, scores)
    if product is None:
        return None
    query, transposed = product
    query, key = _unscaled(query, scores), _transposed(node, _unscaled(transposed, scores))
    batches = {fake(x).shape[:-2] for x in (query, key, value)}
    if len(batches) > 1 or fake(query).ndim < 3 or scores.scale <= 0:
        return None
    mask = _mask(node, scores)
    own = aten.scaled_dot_product_attention.default
    made = insert(node, own, query, key, value, mask, 0.0, False, scale=scores.scale)
    made.meta[SENTINEL] = scores.sentinel
    return made


def _is_over_keys(softmax: Node) -> bool:
    dim, last = softmax.args[1], fake(softmax).ndim - 1
    source = softmax.all_input_nodes[0]
    # Further users get weights of their own; those inside of attention are more exact.
    is_own = len(softmax.users) == 1 or source.target in FILLS | CHOICES
    is_plain = fake(softmax).dtype == torch.float32 and is_own
    return is_plain and dim in (-1, last) and not any(softmax.args[2:])


def _product(at: Node, softmax: Node, scores: _Scores) -> tuple[Node, Node] | None:
    """Queries and transposed keys; None if anything else is computed on the way."""
    node = softmax.args[0]
    while isinstance(node, Node) and len(node.users) == 1:
        if node.target in PRODUCTS:
            query, key = node.args
            return query, key  # type: ignore[return-value]
        if node.target is aten.baddbmm.default and not node.kwargs:
            added, query, key = node.args
            is_added = _add(scores, value_of(added))
            return (query, key) if is_added else None  # type: ignore[return-value]
        node = _step(at, node, scores)
    return None


def _step(at: Node, node: Node, scores: _Scores) -> Any:
    """The operand of a step on the way; None if it is none of these."""
    factor = _factor(node)
    if factor is not None:
        scores.scale *= factor
        return node.args[0]
    if node.target is aten.add.Tensor and not node.kwargs:
        for source, added in (node.args, node.args[::-1]):
            if isinstance(source, Node) and value_of(source) is None:
                return source if _add(scores, _tensor(added)) else None
    if node.target is aten.masked_fill.Scalar:
        source, mask, number = node.args
        return source if _exclude(at, scores, node, mask, number, when=True) else None
    if node.target in (aten.where.ScalarOther, aten.where.self):
        mask, source, number = node.args
        constant_number = _tensor(number)
        if constant_number is not None and constant_number.numel() == 1:
            number = constant_number.item()
            return source if _exclude(at, scores, node, mask, number, when=False) else None
    return None


def _factor(node: Node) -> float | None:
    """By which a node multiplies its first argument."""
    if node.target not in (aten.mul.Tensor, aten.div.Tensor):
        return None
    value = _tensor(node.args[1])
    if value is None or value.numel() != 1 or value.item() == 0:
        return None
    number = float(value.item())
    return number if node.target is aten.mul.Tensor else 1 / number


def _tensor(argument: Any) -> Tensor | None:
    if isinstance(argument, (int, float)):
        return torch.tensor(float(argument))
    return value_of(argument)


def _add(scores: _Scores, added: Tensor | None) -> bool:
    if added is None or added.dtype != torch.float32:
        return False
    scores.added.append(added * scores.scale)
    return True


def _exclude(at: Node, scores: _Scores, node: Node, mask: Any, number: Any, *, when: bool) -> bool:
    """Excludes the keys for which the mask of a node is `when`, whose scores become the number."""
    if not isinstance(number, (int, float)) or number > NEVER or not isinstance(mask, Node):
        return False
    value = value_of(mask)
    if value is not None:
        hidden = value == when
        scores.added.append(torch.where(hidden, -math.inf, 0.0))
        return not bool(hidden.all(dim=-1).any())
    scores.sentinel = sentinel_of(node, number)
    scores.allowed.append(insert(at, aten.logical_not.default, mask) if when else mask)
    return True


def _unscaled(node: Node, scores: _Scores) -> Node:
    factor = _factor(node)
    if factor is None or len(node.users) > 1 or not isinstance(node.args[0], Node):
        return node
    scores.scale *= factor
    return node.args[0]


def _transposed(at: Node, node: Node) -> Node:
    rank = fake(node).ndim
    if node.target is aten.transpose.int and isinstance(node.args[0], Node):
        _, first, second = arguments(node, None, 0, 0)
        if {first % rank, second % rank} == {rank - 2, rank - 1}:
            return node.args[0]
    return insert(at, aten.transpose.int, node, -2, -1)


def _mask(at: Node, scores: _Scores) -> Node | None:
    """One mask for all: additive, of bool, or a choice between what is added and infinity."""
    mask = None
    for allowed in scores.allowed:
        mask = allowed if mask is None else insert(at, aten.logical_and.default, mask, allowed)
    if mask is not None and fake(mask).ndim < 2:
        mask = insert(at, aten.reshape.default, mask, [1, -1])
    if scores.added:
        total = sum(scores.added[1:], scores.added[0])
        added = constant(at, "mask", total.reshape((1,) * (2 - total.ndim) + total.shape))
        if mask is None:
            return added
        mask = insert(at, aten.where.ScalarOther, mask, added, -math.inf)
    return mask

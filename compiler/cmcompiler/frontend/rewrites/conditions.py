"""Bool tensors that say which elements of another tensor count."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch._ops import OpOverload
from torch.fx import Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert

_ATEN = torch.ops.aten


def negated(at: Node, condition: Node) -> Node:
    value = value_of(condition)
    if value is not None:
        return constant(at, f"{at.name}_kept", ~value.bool())
    if condition.target is _ATEN.logical_not.default:
        source = condition.args[0]
        if isinstance(source, Node) and fake(source).dtype == torch.bool:
            return source
    return insert(at, _ATEN.logical_not.default, condition)


def both(at: Node, one: Node, other: Node) -> Node:
    values = [value_of(each) for each in (one, other)]
    if values[0] is not None and values[1] is not None:
        return constant(at, f"{at.name}_kept", values[0] & values[1])
    return insert(at, _ATEN.logical_and.default, one, other)


def moved(node: Node, tensor: Node) -> Node:
    """A movement of another tensor, which broadcasts to the one that the node moves."""
    source = node.args[0]
    assert isinstance(source, Node) and isinstance(node.target, OpOverload)
    if node.target is _ATEN.expand.default:
        return tensor
    whole = as_large(node, tensor, fake(source).shape)
    value = value_of(whole)
    if value is not None:
        moved = node.target(value, *node.args[1:], **node.kwargs)
        return constant(node, f"{node.name}_kept", moved.contiguous())
    return insert(node, node.target, whole, *node.args[1:], **node.kwargs)


def as_large(at: Node, tensor: Node, shape: Iterable[int]) -> Node:
    shape = list(shape)
    if list(fake(tensor).shape) == shape:
        return tensor
    return insert(at, _ATEN.expand.default, tensor, shape)

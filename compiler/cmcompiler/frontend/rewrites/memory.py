"""Which tensors of a graph share memory, and who reads what is written to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import getitem

import torch
from torch._ops import OpOverload
from torch.fx import Node

_ATEN = torch.ops.aten

DROPOUTS = {
    _ATEN.dropout.default,
    _ATEN.dropout_.default,
    _ATEN.alpha_dropout.default,
    _ATEN.alpha_dropout_.default,
    _ATEN.feature_dropout.default,
    _ATEN.feature_dropout_.default,
    _ATEN.feature_alpha_dropout.default,
    _ATEN.feature_alpha_dropout_.default,
}
"""Operators that return their operand in eval mode."""

_UNDECLARED = DROPOUTS | {_ATEN.atleast_3d.default}
"""Operators whose results share memory with their operands, which schemas do not say."""


def is_write(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def is_view(node: Node) -> bool:
    """Whether the result shares memory with the first argument: a view, one of several, a write."""
    if node.target is getitem:
        return any(map(is_view, node.all_input_nodes))
    if not isinstance(node.target, OpOverload):
        return False
    return node.target in _UNDECLARED or any(
        result.alias_info for result in node.target._schema.returns
    )


def bases(node: Node) -> list[Node]:
    """The node and the tensors that it is a view of, one of the other."""
    chain = [node]
    while (viewed := _viewed(chain[-1])) is not None:
        chain.append(viewed)
    return chain


def is_seen_elsewhere(node: Node, order: Mapping[Node, int]) -> bool:
    """Whether something made before a write sees it later, other than what is written to."""
    written = node.args[0]
    assert isinstance(written, Node)
    return any(
        order[other] < order[node] and any(order[user] > order[node] for user in other.users)
        for other in _of_memory(bases(written)[-1])
        if other is not written
    )


def _viewed(node: Node) -> Node | None:
    if is_view(node):
        return node.args[0] if isinstance(node.args[0], Node) else None
    if node.target is not getitem:
        return None
    first = next(twin for twin in node.all_input_nodes[0].users if twin.args == node.args)
    return None if first is node else first


def _of_memory(base: Node) -> Iterator[Node]:
    """A tensor, and all that shares memory with it."""
    yield base
    twins = base.all_input_nodes[0].users if base.target is getitem else ()
    for other in (*base.users, *twins):
        if _viewed(other) is base:
            yield from _of_memory(other)

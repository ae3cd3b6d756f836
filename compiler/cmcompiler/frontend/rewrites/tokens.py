"""Keeps tokens of different kinds apart until they meet in an operator that needs them together.

A class token is often far smaller than the tokens of an image that it is concatenated with, and
would have few of the steps of a range for both. Sums and norms are the same for each part alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import arguments, constant, fake, insert, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild


def separate_tokens(module: GraphModule) -> None:
    """Moves concatenations behind the sums and norms of tokens, and out of selections of one."""
    apart: set[Node] = set()
    for node in list(module.graph.nodes):
        made = None
        if node.target is aten.cat.default and _reaches_norm(node):
            apart.add(node)
        elif node.target is aten.add.Tensor and not node.kwargs:
            made = _sum(node, apart)
        elif _is_norm(node) and _is_concatenation(node.args[0]):
            made = _norm(node)
        elif node.target is aten.select.int:
            made = _selection(node)
        if made is not None:
            replace(node, made)


def _is_norm(node: Node) -> bool:
    return node.target in (cmbuild.layer_norm.default, cmbuild.rms_norm.default)


def _dims(norm: Node) -> list[int]:
    return list(norm.args[1])  # type: ignore[arg-type]


def _is_concatenation(node: Any) -> bool:
    return isinstance(node, Node) and node.target is aten.cat.default


def _dim(concatenation: Node) -> int:
    _, dim = arguments(concatenation, None, 0)
    return int(dim % fake(concatenation).ndim)


def _parts(concatenation: Node) -> list[Node]:
    return list(concatenation.args[0])  # type: ignore[arg-type]


def _reaches_norm(node: Node) -> bool:
    """Whether only sums lie between a concatenation and a norm of its parts."""
    dim, pending, seen = _dim(node), [node], {node}
    while pending:
        for user in pending.pop().users:
            if _is_norm(user) and dim not in _dims(user):
                return True
            is_sum = user.target is aten.add.Tensor and fake(user).shape == fake(node).shape
            if is_sum and user not in seen:
                seen.add(user)
                pending.append(user)
    return False


def _sum(node: Node, apart: set[Node]) -> Node | None:
    whole = next((x for x in node.args if x in apart), None)
    if not isinstance(whole, Node) or fake(whole).shape != fake(node).shape:
        return None
    addends = [_pieces(node, x, whole) for x in node.args]
    parts = [insert(node, aten.add.Tensor, *pair) for pair in zip(*addends, strict=True)]
    made = insert(node, aten.cat.default, parts, _dim(whole))
    apart.add(made)
    return made


def _pieces(node: Node, addend: Any, whole: Node) -> list[Any]:
    """The addends of the parts of a concatenation."""
    parts, dim = _parts(whole), _dim(whole)
    sizes = [fake(part).shape[dim] for part in parts]
    if not isinstance(addend, Node):
        return [addend] * len(parts)
    if _is_concatenation(addend) and _dim(addend) == dim:
        own = _parts(addend)
        if [fake(part).shape[dim] for part in own] == sizes:
            return list(own)
    own_dim = dim - fake(whole).ndim + fake(addend).ndim
    if own_dim < 0 or fake(addend).shape[own_dim] == 1:
        return [addend] * len(parts)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    value = value_of(addend)
    if value is not None:
        return [
            constant(node, f"{addend.name}_part", value.narrow(own_dim, start, size))
            for start, size in zip(starts, sizes, strict=True)
        ]
    return [
        insert(node, aten.slice.Tensor, addend, own_dim, start, start + size)
        for start, size in zip(starts, sizes, strict=True)
    ]


def _norm(node: Node) -> Node | None:
    whole = node.args[0]
    assert isinstance(whole, Node) and isinstance(node.target, OpOverload)
    if _dim(whole) in _dims(node):
        return None
    parts = [insert(node, node.target, part, *node.args[1:]) for part in _parts(whole)]
    return insert(node, aten.cat.default, parts, _dim(whole))


def _selection(node: Node) -> Node | None:
    """Selects from the part that has the element."""
    whole, dim, index = node.args
    if not _is_concatenation(whole):
        return None
    assert isinstance(whole, Node) and isinstance(dim, int) and isinstance(index, int)
    if dim % fake(whole).ndim != _dim(whole):
        return None
    index %= fake(whole).shape[dim]
    for part in _parts(whole):
        size = fake(part).shape[dim]
        if index < size:
            return insert(node, aten.select.int, part, dim, index)
        index -= size
    return None

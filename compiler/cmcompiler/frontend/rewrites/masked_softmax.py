"""Softmax after a fill with a number far below all others: without the elements filled."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, replace
from cmcompiler.frontend.rewrites.masks import CHOICES, FARTHEST, FILLS, Sentinel, sentinel_of

_ATEN = torch.ops.aten


def join_masks(module: GraphModule) -> None:
    """Replaces both by `cmbuild::masked_softmax`, where the softmax is over the last dimension."""
    for node in list(module.graph.nodes):
        if node.target is _ATEN.softmax.int and _is_last(node):
            _join(node)


def is_mask_of_softmax(node: Node) -> bool:
    """Whether softmaxes over the last dimension alone read what a far number is filled into.

    As a result of its own it would be as near as the range of the others' ends.
    """
    readers = [
        reader
        for user in node.users
        for reader in (user.users if user.target is _ATEN.permute.default else [user])
    ]
    is_read = all(each.target is _ATEN.softmax.int and _is_last(each) for each in readers)
    return bool(readers) and is_read and _masked(node) is not None


def _is_last(node: Node) -> bool:
    return not node.kwargs and len(node.args) == 2 and node.args[1] in (-1, fake(node).ndim - 1)


def _join(node: Node) -> None:
    source, order = node.all_input_nodes[0], None
    if source.target is _ATEN.permute.default:
        source, order = source.all_input_nodes[0], source.args[1]
    masked = _masked(source)
    if masked is None:
        return
    x, mask, is_kept, sentinel = masked
    value = value_of(mask)
    if not is_kept:
        value = None if value is None else ~value
        mask = insert(node, _ATEN.logical_not.default, mask)
    if order is not None:
        mask = insert(node, _ATEN.expand.default, mask, list(fake(x).shape))
        mask = insert(node, _ATEN.permute.default, mask, order)
        x = insert(node, _ATEN.permute.default, x, order)
        value = None if value is None else value.expand(fake(source).shape).permute(order)  # type: ignore[arg-type]
    if value is not None:
        mask = constant(node, f"{node.name}_mask", value.contiguous())
    replace(node, insert(node, torch.ops.cmbuild.masked_softmax.default, x, mask, -1, *sentinel))


def _masked(node: Node) -> tuple[Node, Node, bool, Sentinel] | None:
    """A tensor, a mask, whether it is true for the elements that are kept, and what else is."""
    if node.target not in FILLS | CHOICES:
        return None
    given: list[Any] = list(node.args)
    if node.target in FILLS:
        x, mask, number = given
        is_kept = False
    else:
        mask, x, number = given
        is_kept = number_of(x) is None
        x, number = (x, number) if is_kept else (number, x)
    size = number_of(number)
    is_tensor = isinstance(x, Node) and fake(x).shape == fake(node).shape
    if size is None or size > -FARTHEST or not is_tensor:
        return None
    return x, mask, is_kept, sentinel_of(node, size)

"""Paddings by name as margins, each kind by its own operator, and circular ones as parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.traced import written

aten = torch.ops.aten


_MIRRORS = {
    ("reflect", 2): aten.reflection_pad1d.default,
    ("reflect", 4): aten.reflection_pad2d.default,
    ("replicate", 2): aten.replication_pad1d.default,
    ("replicate", 4): aten.replication_pad2d.default,
}


def make_margins_explicit(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is aten.conv2d.padding:
            replace(node, _padded_convolution(node))
        elif node.target is aten.pad.default:
            given = named_arguments(node)
            source, sides, kind = given["self"], given["pad"], given["mode"]
            if kind == "circular" and min(sides) >= 0:
                replace(node, written(node, _wrapped, source, sides))
            elif (kind, len(sides)) in _MIRRORS:
                replace(node, insert(node, _MIRRORS[kind, len(sides)], source, sides))


def _padded_convolution(node: Node) -> Node:
    given = named_arguments(node)
    margins = _same(node, given) if given.pop("padding") == "same" else [(0, 0), (0, 0)]
    if all(before == after for before, after in margins):
        given["padding"] = [before for before, _ in margins]
    else:
        (top, bottom), (left, right) = margins
        sides = [left, right, top, bottom]
        given["input"] = insert(node, aten.constant_pad_nd.default, given["input"], sides)
    return insert_named(node, aten.conv2d.default, given)


def _same(node: Node, given: dict[str, Any]) -> list[tuple[int, int]]:
    """Rows and columns before and after an image that leave its size as it is."""
    sizes = fake(given["weight"]).shape[2:]
    steps = given["dilation"] if len(given["dilation"]) == 2 else given["dilation"] * 2
    totals = [step * (size - 1) for step, size in zip(steps, sizes, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _wrapped(source: Any, sides: Sequence[int]) -> Any:
    """Sides: before and after each dimension, the last one first."""
    rank = source.ndim
    for number, (before, after) in enumerate(zip(sides[::2], sides[1::2], strict=True)):
        dim = rank - 1 - number
        ahead = [source.narrow(dim, source.shape[dim] - before, before)] if before > 0 else []
        behind = [source.narrow(dim, 0, after)] if after > 0 else []
        if ahead or behind:
            source = torch.cat([*ahead, source, *behind], dim)
    return source

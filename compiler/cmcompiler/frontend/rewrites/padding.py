"""Paddings by name as margins, and circular ones as parts of the tensor itself."""

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

aten = torch.ops.aten


def make_margins_explicit(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is aten.conv2d.padding:
            replace(node, _padded_convolution(node))
        elif node.target is aten.pad.default and named_arguments(node)["mode"] == "circular":
            replace(node, _wrapped(node))


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


def _wrapped(node: Node) -> Node:
    given = named_arguments(node)
    source: Node = given["self"]
    sides: Sequence[int] = given["pad"]
    rank = fake(source).dim()
    for number, (before, after) in enumerate(zip(sides[::2], sides[1::2], strict=True)):
        dim = rank - 1 - number
        size = fake(source).shape[dim]
        kept = (max(0, -before), size - max(0, -after))
        parts = [(size - before, size)] if before > 0 else []
        parts += [kept, *([(0, after)] if after > 0 else [])]
        pieces = [insert(node, aten.slice.Tensor, source, dim, first, end) for first, end in parts]
        source = insert(node, aten.cat.default, pieces, dim) if len(pieces) > 1 else pieces[0]
    return source

"""Products, running extremes and logarithms of running sums of exponentials in log2(n) steps.

Each step takes twice as many elements as the one before.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    mark_as_step,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.logarithms import soft_maximum
from cmcompiler.frontend.rewrites.traced import apply_rules

aten = torch.ops.aten

PRODUCTS = (aten.prod.default, aten.prod.dim_int)
RUNNING = {
    aten.cumprod.default: aten.mul.Tensor,
    aten.logcumsumexp.default: aten.logaddexp.default,
}
EXTREMES = {aten.cummax.default: aten.maximum.default, aten.cummin.default: aten.minimum.default}


def double_scans(module: GraphModule) -> None:
    """Replaces products, what runs, and running extremes with their places."""
    for node in list(module.graph.nodes):
        if node.target in PRODUCTS and fake(node).dtype == torch.float32:
            _multiply(node, named_arguments(node))
        if node.target in RUNNING:
            _replace(node, node, RUNNING[node.target])
        elif node.target in EXTREMES:
            _run_extremes(node, EXTREMES[node.target])
    apply_rules(module, {aten.logaddexp.default: soft_maximum})


def _run_extremes(node: Node, operator: torch._ops.OpOverload) -> None:
    """Replaces running extremes, and their places: each is the last one that equals its extreme."""
    given = named_arguments(node)
    source, dim = given["self"], given["dim"]
    results = [user for user in node.users if user.users]
    if not _is_scanned(source) or any(user.target is not getitem for user in results):
        return
    extremes = _scanned(node, source, dim, operator)
    for result in results:
        if result.args[1] == 0:
            replace(result, extremes)
            continue
        sizes = [1] * fake(source).ndim
        sizes[dim] = fake(source).shape[dim]
        every = constant(node, f"{node.name}_places", torch.arange(sizes[dim]).reshape(sizes))
        none = constant(node, f"{node.name}_none", torch.zeros(1, dtype=torch.int64))
        is_new = insert(node, aten.eq.Tensor, source, extremes)
        places = insert(node, aten.where.self, is_new, every, none)
        replace(result, _scanned(node, places, dim, aten.maximum.default))


def _replace(node: Node, result: Node, operator: torch._ops.OpOverload) -> None:
    given = named_arguments(node)
    if _is_scanned(given["self"]):
        replace(result, _scanned(node, given["self"], given["dim"], operator))


def _is_scanned(source: Node) -> bool:
    return bool(fake(source).dtype == torch.float32 and fake(source).ndim)


def _scanned(node: Node, source: Node, dim: int, operator: torch._ops.OpOverload) -> Node:
    size, taken = fake(source).shape[dim], 1
    while taken < size:
        first, earlier, later = (
            insert(node, aten.slice.Tensor, source, dim, start, end)
            for start, end in ((0, taken), (0, size - taken), (taken, size))
        )
        joined = insert(node, operator, later, earlier)
        source = insert(node, aten.cat.default, [first, joined], dim)
        taken *= 2
        for step in (first, earlier, later, joined, *([source] if taken < size else [])):
            mark_as_step(step)
    return source


def _multiply(node: Node, given: dict[str, Any]) -> None:
    """The first half of the elements times the second, until one is left."""
    source, dim = given["self"], given.get("dim")
    if fake(source).dtype != torch.float32 or not fake(source).numel():
        return
    if dim is None:
        source, dim = insert(node, aten.reshape.default, source, [-1]), 0
    elif not fake(source).ndim:
        return
    while (size := fake(source).shape[dim]) > 1:
        half, is_last = size // 2, size == 2
        parts = [
            insert(node, aten.slice.Tensor, source, dim, start, end)
            for start, end in ((0, half), (half, 2 * half), (2 * half, size))
            if start < end
        ]
        source = insert(node, aten.mul.Tensor, *parts[:2])
        made = [*parts, source]
        if len(parts) > 2:
            source = insert(node, aten.cat.default, [source, parts[2]], dim)
            made.append(source)
        for step in made[:-1] if is_last else made:
            mark_as_step(step)
    keeps = given.get("keepdim", False)
    replace(node, source if keeps else insert(node, aten.squeeze.dim, source, dim))

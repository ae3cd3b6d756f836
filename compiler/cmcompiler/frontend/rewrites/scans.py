"""Products, running extremes and logarithms of running sums of exponentials in log2(n) steps.

Each step takes twice as many elements as the one before.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
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
    """Replaces products, what runs, and running extremes whose indices nothing uses."""
    for node in list(module.graph.nodes):
        if node.target in PRODUCTS and fake(node).dtype == torch.float32:
            _multiply(node, named_arguments(node))
        if node.target in RUNNING:
            _replace(node, node, RUNNING[node.target])
        elif node.target in EXTREMES:
            results = [user for user in node.users if user.users]
            if all(user.target is getitem and user.args[1] == 0 for user in results):
                for result in results:
                    _replace(node, result, EXTREMES[node.target])
    apply_rules(module, {aten.logaddexp.default: soft_maximum})


def _replace(node: Node, result: Node, operator: torch._ops.OpOverload) -> None:
    given = named_arguments(node)
    source, dim = given["self"], given["dim"]
    if fake(source).dtype != torch.float32 or fake(source).ndim == 0:
        return
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
    replace(result, source)


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

"""The indices that max pools return, and what unpools by them."""

from __future__ import annotations

from math import prod
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace
from cmcompiler.frontend.rewrites.traced import Rule, apply_rules, held, written

_ATEN = torch.ops.aten

_ADAPTIVE = {
    _ATEN.adaptive_max_pool1d.default: (1, _ATEN.max_pool1d_with_indices.default),
    _ATEN.adaptive_max_pool2d.default: (2, _ATEN.max_pool2d_with_indices.default),
    _ATEN.adaptive_max_pool3d.default: (3, _ATEN.max_pool3d_with_indices.default),
}
"""Dimensions of images, and the pool of windows of one size."""

_POOLS = {
    _ATEN.max_pool1d_with_indices.default: (1, _ATEN.max_pool1d.default),
    _ATEN.max_pool2d_with_indices.default: (2, _ATEN.max_pool2d.default),
    _ATEN.max_pool3d_with_indices.default: (3, _ATEN.max_pool3d.default),
}
"""Dimensions of images, and the pool without indices."""


def find_pool_places(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target in _ADAPTIVE:
            _with_windows(node)
    for node in list(module.graph.nodes):
        if node.target in _POOLS:
            _separate(node)
    apply_rules(
        module,
        {
            _ATEN.max_unpool2d.default: _unpooled(2),
            _ATEN.max_unpool3d.default: _unpooled(3),
        },
    )
    module.graph.eliminate_dead_code()


def _with_windows(node: Node) -> None:
    """Gives an adaptive pool whose places are used its windows, if they are of one size."""
    rank, pool = _ADAPTIVE[node.target]  # type: ignore[index]
    is_placed = any(
        user.target is getitem and user.args[1] == 1 and user.users for user in node.users
    )
    given = named_arguments(node)
    sizes = fake(given["self"]).shape[-rank:]
    counts = fake(node)[0].shape[-rank:]
    if is_placed and not any(size % count for size, count in zip(sizes, counts, strict=True)):
        window = [size // count for size, count in zip(sizes, counts, strict=True)]
        replace(node, insert(node, pool, given["self"], window, window))


def _separate(node: Node) -> None:
    """Gives each result an operator of its own."""
    rank, pool = _POOLS[node.target]  # type: ignore[index]
    given = named_arguments(node)
    results = [user for user in node.users if user.target is getitem]
    places = [user for user in results if user.args[1] == 1 and user.users]
    if places:
        indices = _places(node, given, rank)
        if indices is None:
            return
        for user in places:
            replace(user, indices)
    elif pool is not _ATEN.max_pool3d.default:
        return
    for user in results:
        if user.args[1] == 0:
            replace(user, insert(node, pool, *node.args, **node.kwargs))


def _places(node: Node, given: dict[str, Any], rank: int) -> Node | None:
    """Places of the largest element of each window, in the flat image."""
    source = given["self"]
    kernel = _sides(given["kernel_size"], rank)
    stride = _sides(given["stride"], rank) or kernel
    dilation = _sides(given["dilation"], rank)
    lead, sizes = fake(source).shape[:-rank], fake(source).shape[-rank:]
    counts = list(fake(node)[0].shape[-rank:])
    fits = all(
        (count - 1) * s + (k - 1) * d < size
        for count, s, k, d, size in zip(counts, stride, kernel, dilation, sizes, strict=True)
    )
    if any(_sides(given["padding"], rank)) or not fits:
        return None
    elements = torch.arange(prod(sizes)).reshape(sizes)
    windows = _windows(elements, counts, kernel, stride, dilation)
    count, taps = windows.shape

    def places(image: Any) -> Any:
        flat = image.reshape([*lead, prod(sizes)])
        picked = flat.index_select(len(lead), windows.flatten())
        tap = picked.reshape([*lead, count, taps]).argmax(-1)
        rows = tap + torch.arange(count) * taps
        table = held(rows, windows.reshape(-1, 1))
        return torch.embedding(table, rows).reshape([*lead, *counts])

    made: Node = written(node, places, source)
    return made


def _windows(
    elements: Tensor, counts: list[int], kernel: list[int], stride: list[int], dilation: list[int]
) -> Tensor:
    """[windows, taps] of the elements of an image."""
    rank = len(counts)
    for axis in range(rank):
        starts = torch.arange(counts[axis]) * stride[axis]
        taps = torch.arange(kernel[axis]) * dilation[axis]
        index = (starts[:, None] + taps).flatten()
        elements = elements.index_select(2 * axis, index)
        shape = [*elements.shape]
        shape[2 * axis : 2 * axis + 1] = [counts[axis], kernel[axis]]
        elements = elements.reshape(shape)
    order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]
    return elements.permute(order).reshape(prod(counts), prod(kernel))


def _unpooled(rank: int) -> Rule:
    def rule(self: Any, indices: Any, out: Any) -> Any:
        shape, count = list(out.shape), prod(self.shape[-rank:])
        lead = shape[:-rank]
        values, places = (each.reshape([*lead, count]) for each in (self, indices))
        zeros = held(values, torch.zeros(*lead, prod(shape[-rank:])))
        return zeros.scatter(len(lead), places, values).reshape(shape)

    return rule


def _sides(given: Any, rank: int) -> list[int]:
    sides = [given] if isinstance(given, int) else list(given)
    return sides * rank if len(sides) == 1 else sides

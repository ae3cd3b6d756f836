"""Pools of every configuration as those that the quantizer knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)

aten = torch.ops.aten

MOST_WINDOWS = 16
"""Limit of windows of different sizes or distances along an axis, each a node of its own."""


def unify_pools(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is aten.adaptive_avg_pool2d.default:
            _replace_adaptive(node, node, aten.avg_pool2d.default)
        elif node.target is aten.adaptive_max_pool2d.default:
            results = [user for user in node.users if user.users]
            if [user.args[1] for user in results] == [0]:
                _replace_adaptive(node, results[0], aten.max_pool2d.default)
        elif node.target is aten.avg_pool2d.default and node.args[6:] not in ((), (None,)):
            replace(node, _with_divisor(node))


def _replace_adaptive(node: Node, result: Node, pool: OpOverload) -> None:
    source = node.all_input_nodes[0]
    sizes, counts = fake(source).shape[-2:], fake(result).shape[-2:]
    windows = [_windows(*pair) for pair in zip(sizes, counts, strict=True)]
    # The backend has a rule for pools of everything.
    is_known = pool is aten.avg_pool2d.default and tuple(counts) == (1, 1)
    if fake(source).dim() != 4 or is_known:
        return
    if all(map(_are_regular, windows)):
        kernel = [bounds[0][1] - bounds[0][0] for bounds in windows]
        stride = [bounds[1][0] if len(bounds) > 1 else 1 for bounds in windows]
        replace(result, insert(node, pool, source, kernel, stride))
    elif max(counts) <= MOST_WINDOWS:
        # A window's mean is the mean of its rows' means, and so is the maximum.
        for axis, bounds in enumerate(windows):
            source = _along(node, source, pool, axis + 2, bounds)
        replace(result, source)


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _are_regular(windows: Sequence[tuple[int, int]]) -> bool:
    """Whether they have one size and one distance."""
    (start, end), step = windows[0], windows[min(1, len(windows) - 1)][0]
    expected = [(start + i * step, end + i * step) for i in range(len(windows))]
    return windows == expected and (step > 0 or len(windows) == 1)


def _along(
    node: Node, source: Node, pool: OpOverload, dim: int, windows: Sequence[tuple[int, int]]
) -> Node:
    parts = []
    for start, end in windows:
        part = insert(node, aten.slice.Tensor, source, dim, start, end)
        kernel = [end - start, 1] if dim == 2 else [1, end - start]
        parts.append(insert(node, pool, part, kernel, [1, 1]))
    return insert(node, aten.cat.default, parts, dim) if len(parts) > 1 else parts[0]


def _with_divisor(node: Node) -> Node:
    """A mean of all taps of windows on an image with margins, times taps per divisor."""
    given: dict[str, Any] = named_arguments(node)
    image, kernel = given["self"], _pair(given["kernel_size"])
    stride, padding = _pair(given["stride"] or kernel), _pair(given["padding"])
    sides: list[int] = []
    for axis in (1, 0):
        size, count = fake(image).shape[axis + 2], fake(node).shape[axis + 2]
        reach = (count - 1) * stride[axis] + kernel[axis]
        sides += [padding[axis], max(0, reach - size - padding[axis])]
    if any(sides):
        image = insert(node, aten.constant_pad_nd.default, image, sides)
    pooled = {"self": image, "kernel_size": kernel, "stride": stride}
    mean = insert_named(node, aten.avg_pool2d.default, pooled)
    factor = kernel[0] * kernel[1] / given["divisor_override"]
    return insert(node, aten.mul.Tensor, mean, factor)


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else [value[0], value[-1]]

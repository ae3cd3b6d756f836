"""Windows of a tensor, side by side, as elements picked by constant indices."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

aten = torch.ops.aten


def pick_windows(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is aten.im2col.default and fake(node.args[0]).dim() == 4:
            replace(node, _patches(node))
        elif node.target is aten.col2im.default and _is_tiling(node):
            replace(node, _image(node))
        elif node.target is aten.col2im.default and fake(node).dim() == 4:
            replace(node, _summed(node))
        elif node.target is aten.unfold.default and fake(node.args[0]).dim():
            replace(node, _unfolded(node))


def _picked(node: Node, source: Node, dim: int, places: Tensor) -> Node:
    held = constant(node, f"{node.name}_places", places.flatten())
    return insert(node, aten.index_select.default, source, dim, held)


def _patches(node: Node) -> Node:
    """[N, C, H, W] to [N, C · taps, windows]."""
    given = named_arguments(node)
    source: Node = given["self"]
    if any(given["padding"]):
        high, wide = given["padding"]
        source = insert(node, aten.constant_pad_nd.default, source, [wide, wide, high, high])
    batch, channels, *sizes = fake(source).shape
    windows = [
        torch.arange(0, size - dilation * (kernel - 1), stride)
        + dilation * torch.arange(kernel)[:, None]
        for size, kernel, dilation, stride in zip(
            sizes, given["kernel_size"], given["dilation"], given["stride"], strict=True
        )
    ]
    rows, columns = windows
    places = rows[:, None, :, None] * sizes[1] + columns[None, :, None, :]
    flat = insert(node, aten.reshape.default, source, [batch, channels, prod(sizes)])
    picked = _picked(node, flat, 2, places)
    return insert(node, aten.reshape.default, picked, list(fake(node).shape))


def _is_tiling(node: Node) -> bool:
    """Whether windows cover an image without margins and overlaps."""
    given = named_arguments(node)
    return (
        fake(node).dim() == 4
        and list(given["kernel_size"]) == list(given["stride"])
        and not any(given["padding"])
        and set(given["dilation"]) == {1}
        and not any(s % k for s, k in zip(fake(node).shape[2:], given["kernel_size"], strict=True))
    )


def _image(node: Node) -> Node:
    given = named_arguments(node)
    batch, channels, height, width = fake(node).shape
    high, wide = given["kernel_size"]
    tiles = [batch, channels, high, wide, height // high, width // wide]
    split = insert(node, aten.reshape.default, given["self"], tiles)
    placed = insert(node, aten.permute.default, split, [0, 1, 4, 2, 5, 3])
    return insert(node, aten.reshape.default, placed, [batch, channels, height, width])


def _unfolded(node: Node) -> Node:
    """Windows along a dimension, whose elements become the last dimension."""
    given = named_arguments(node)
    source, size = given["self"], given["size"]
    shape = fake(source).shape
    dim = given["dimension"] % len(shape)
    count = fake(node).shape[dim]
    places = torch.arange(count)[:, None] * given["step"] + torch.arange(size)
    picked = _picked(node, source, dim, places)
    split = [*shape[:dim], count, size, *shape[dim + 1 :]]
    windows = insert(node, aten.reshape.default, picked, split)
    order = [axis for axis in range(len(split)) if axis != dim + 1]
    return insert(node, aten.permute.default, windows, [*order, dim + 1])


def _summed(node: Node) -> Node:
    """Windows added up where they overlap: a transposed convolution that spreads each tap."""
    given = named_arguments(node)
    batch, channels, *sizes = fake(node).shape
    kernel, stride, padding, dilation = (
        given[name] for name in ("kernel_size", "stride", "padding", "dilation")
    )
    sides = list(zip(sizes, kernel, stride, padding, dilation, strict=True))
    counts = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in sides]
    rest = [
        size - ((count - 1) * s - 2 * p + d * (k - 1) + 1)
        for count, (size, k, s, p, d) in zip(counts, sides, strict=True)
    ]
    taps = prod(kernel)
    spread = torch.eye(taps).reshape(1, taps, 1, *kernel).expand(channels, -1, -1, -1, -1)
    weights = constant(node, f"{node.name}_taps", spread.reshape(-1, 1, *kernel))
    shape = [batch, channels * taps, *counts]
    windows = insert(node, aten.reshape.default, given["self"], shape)
    convolution = aten.conv_transpose2d.input
    arguments = weights, None, stride, padding, rest, channels, dilation
    return insert(node, convolution, windows, *arguments)

"""Windows of a tensor, side by side, as elements picked by constant indices."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.traced import Rule, apply_rules, held

aten = torch.ops.aten


def pick_windows(module: GraphModule) -> None:
    apply_rules(module, _RULES)


def _patches(
    self: Any,
    *,
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
    out: Any,
) -> Any:
    """[N, C, H, W] to [N, C · taps, windows]."""
    if self.ndim != 4:
        return None
    if any(padding):
        high, wide = padding
        self = self.constant_pad_nd([wide, wide, high, high])
    batch, channels, *sizes = self.shape
    rows, columns = (
        torch.arange(0, size - gap * (kernel - 1), step) + gap * torch.arange(kernel)[:, None]
        for size, kernel, gap, step in zip(sizes, kernel_size, dilation, stride, strict=True)
    )
    places = rows[:, None, :, None] * sizes[1] + columns[None, :, None, :]
    flat = self.reshape([batch, channels, prod(sizes)])
    return flat.index_select(2, places.flatten()).reshape(list(out.shape))


def _image(
    self: Any,
    *,
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
    out: Any,
) -> Any:
    """The image of windows that cover it without margins and overlaps, or their sums."""
    if out.ndim != 4:
        return None
    batch, channels, height, width = out.shape
    high, wide = kernel_size
    is_tiling = list(kernel_size) == list(stride) and not any(padding) and set(dilation) == {1}
    if not is_tiling or height % high or width % wide:
        return _summed(self, list(out.shape), kernel_size, dilation, padding, stride)
    tiles = [batch, channels, high, wide, height // high, width // wide]
    return self.reshape(tiles).permute([0, 1, 4, 2, 5, 3]).reshape([batch, channels, height, width])


def _summed(self: Any, shape: list[int], *layout: list[int]) -> Any:
    """Windows added up where they overlap: a transposed convolution that spreads each tap."""
    kernel, dilation, padding, stride = layout
    batch, channels, *sizes = shape
    sides = list(zip(sizes, kernel, stride, padding, dilation, strict=True))
    counts = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in sides]
    rest = [
        size - ((count - 1) * s - 2 * p + d * (k - 1) + 1)
        for count, (size, k, s, p, d) in zip(counts, sides, strict=True)
    ]
    taps = prod(kernel)
    spread = torch.eye(taps).reshape(1, taps, 1, *kernel).expand(channels, -1, -1, -1, -1)
    weights = held(self, spread.reshape(-1, 1, *kernel))
    windows = self.reshape([batch, channels * taps, *counts])
    return aten.conv_transpose2d.input(
        windows, weights, None, stride, padding, rest, channels, dilation
    )


def _unfolded(self: Any, dimension: int, size: int, step: int, out: Any) -> Any:
    """Windows along a dimension, whose elements become the last dimension."""
    if not self.ndim:
        return None
    dim = dimension % self.ndim
    count = out.shape[dim]
    places = torch.arange(count)[:, None] * step + torch.arange(size)
    split = [*self.shape[:dim], count, size, *self.shape[dim + 1 :]]
    windows = self.index_select(dim, places.flatten()).reshape(split)
    return windows.permute([*(each for each in range(len(split)) if each != dim + 1), dim + 1])


_RULES: dict[Any, Rule] = {
    aten.im2col.default: _patches,
    aten.col2im.default: _image,
    aten.unfold.default: _unfolded,
}

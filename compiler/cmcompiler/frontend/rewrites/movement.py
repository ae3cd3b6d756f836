"""Movements of elements by the operators that the quantizer knows."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.traced import Rule, apply_rules

aten = torch.ops.aten


def spell_movements(module: GraphModule) -> None:
    apply_rules(module, _RULES)


def _rolled(self: Any, shifts: list[int], dims: list[int]) -> Any:
    if not dims:
        return _rolled(self.reshape([-1]), shifts, [0]).reshape(list(self.shape))
    source = self
    for shift, dim in zip(shifts, dims, strict=True):
        size = source.shape[dim]
        first = -shift % size if size else 0
        if first:
            parts = [source.narrow(dim, first, size - first), source.narrow(dim, 0, first)]
            source = torch.cat(parts, dim)
    return self.clone() if source is self else source


def _shuffled(self: Any, groups: int) -> Any:
    batch, channels, *rest = self.shape
    split = self.reshape([batch, groups, channels // groups, *rest])
    return split.transpose(1, 2).reshape([batch, channels, *rest])


def _repeated(self: Any, repeats: int, dim: int | None, out: Any) -> Any:
    """Each element several times in a row: a new dimension of so many, joined with its own."""
    size = list(out.shape)
    if dim is None:
        self, dim = self.reshape([-1]), 0
    dim %= len(size)
    each = self.unsqueeze(dim + 1)
    return each.expand([*self.shape[: dim + 1], repeats, *size[dim + 1 :]]).reshape(size)


def _picked(input: Any, scale_factors: list[float] | None, out: Any) -> Any:
    """Rows and columns by their indices, which torch computes."""
    for axis, size in enumerate(input.shape[2:]):
        line = torch.arange(size, dtype=torch.float32)
        line = line.reshape(1, 1, size, 1) if axis == 0 else line.reshape(1, 1, 1, size)
        sizes, scales = [1, 1], None
        sizes[axis] = out.shape[2 + axis]
        if scale_factors is not None:
            scales = [1.0, 1.0]
            scales[axis] = scale_factors[axis]
        nearest = aten._upsample_nearest_exact2d.vec(line, None if scales else sizes, scales)
        input = input.index_select(2 + axis, nearest.flatten().long())
    return input


def _diagonal(self: Any, offset: int, dim1: int, dim2: int, out: Any) -> Any:
    """Elements at equal distances in the two dimensions as one."""
    if not out.numel():
        return None
    rank = self.ndim
    pair = [dim1 % rank, dim2 % rank]
    order = [dim for dim in range(rank) if dim not in pair] + pair
    source = self if order == list(range(rank)) else self.permute(order)
    *others, rows, columns = source.shape
    first = offset if offset >= 0 else -offset * columns
    last = first + (out.shape[-1] - 1) * (columns + 1)
    flat = source.reshape([*others, rows * columns])
    return flat.slice(rank - 2, first, last + 1, columns + 1)


_RULES: dict[Any, Rule] = {
    aten.roll.default: _rolled,
    aten.channel_shuffle.default: _shuffled,
    aten._upsample_nearest_exact2d.vec: _picked,
    aten.repeat_interleave.self_int: _repeated,
    aten.diagonal.default: _diagonal,
    aten.diagonal_copy.default: _diagonal,
}

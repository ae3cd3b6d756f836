"""Convolutions with kernels that depend on inputs, as products with patches."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.traced import apply_rules

aten = torch.ops.aten


def multiply_patches(module: GraphModule) -> None:
    apply_rules(module, {aten.conv2d.default: _product})


def _product(
    input: Any,
    weight: Any,
    bias: Any,
    *,
    dilation: Any,
    padding: Any,
    stride: Any,
    groups: int,
    out: Any,
) -> Any:
    if value_of(weight.node) is not None:
        return None
    source = input.unsqueeze(0) if input.ndim == 3 else input
    outputs, depth, *kernel = weight.shape
    patches = source.im2col(kernel, *map(_both, (dilation, padding, stride)))
    batch, taps, count = source.shape[0], depth * prod(kernel), patches.shape[-1]
    columns = patches.reshape([batch, groups, taps, count])
    rows = weight.reshape([1, groups, outputs // groups, taps])
    made = (rows @ columns).reshape(list(out.shape))
    return made if bias is None else made + bias.reshape([-1, 1, 1])


def _both(sides: list[int]) -> list[int]:
    """The numbers for height and width, if one number is for both."""
    return [*sides, *sides] if len(sides) == 1 else sides

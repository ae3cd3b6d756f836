"""Transposed convolutions with output padding, dilation or groups as ones with weights of zero.

Output padding adds rows and columns that a larger kernel would reach; dilation puts gaps between
taps; groups do not see each other's channels. The compiler leaves out taps of zero again.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    insert_named,
    is_constant,
    named_arguments,
    replace,
)

_TRANSPOSED = torch.ops.aten.conv_transpose2d.input


def spread_taps(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.target is not _TRANSPOSED:
            continue
        given = named_arguments(node)
        extra, dilation = given.pop("output_padding"), given.pop("dilation")
        groups = given.pop("groups")
        is_special = any(extra) or set(dilation) != {1} or groups > 1
        if is_constant(given["weight"]) and is_special:
            weight = _ungrouped(constant_value(given["weight"]), groups)
            taps = _spread(weight, dilation, extra)
            given["weight"] = constant(node, f"{node.name}_weight", taps)
            replace(node, insert_named(node, _TRANSPOSED, given))


def _ungrouped(weight: Tensor, groups: int) -> Tensor:
    """The weight [C_in, C_out, height, width] of one group, from [C_in, C_out / groups, …]."""
    parts = weight.chunk(groups)
    whole = weight.new_zeros(weight.shape[0], groups * weight.shape[1], *weight.shape[2:])
    rows, columns = parts[0].shape[:2]
    for number, part in enumerate(parts):
        first, left = number * rows, number * columns
        whole[first : first + rows, left : left + columns] = part
    return whole


def _spread(weight: Tensor, dilation: list[int], extra: list[int]) -> Tensor:
    """The weight [C_in, C_out, height, width] with zeros between its taps, and after them."""
    sizes = [
        (count - 1) * step + 1 + more
        for count, step, more in zip(weight.shape[2:], dilation, extra, strict=True)
    ]
    taps = weight.new_zeros(*weight.shape[:2], *sizes)
    ends = [size - more for size, more in zip(sizes, extra, strict=True)]
    taps[:, :, : ends[0] : dilation[0], : ends[1] : dilation[1]] = weight
    return taps

"""Graphs in double precision, and what single precision loses. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Interpreter, Node
from torch.utils._pytree import tree_map_only

_ROUNDING = 2.0**-24
"""Largest relative error of a number in single precision."""


class DoubleRun(Interpreter):
    """Computes a graph in double precision, as far as its operators know it."""

    def run_node(self, n: Node) -> Any:
        return widened(super().run_node(n))


def widened(result: Any) -> Any:
    """A tensor of real numbers in double precision; anything else as it is."""
    is_real = isinstance(result, Tensor) and result.is_floating_point()
    return result.double() if is_real else result


def single_rounding(compute: Callable[..., Tensor], exact: Tensor, arguments: Any) -> Tensor:
    """The change of a result when all operands change by a rounding of their largest number.

    It is large where large numbers cancel out: as in weighted sums and norms of what lies far from
    zero, which no order of additions makes better than that.

    Args:
        exact: the result in double precision.
        arguments: positional ones and others.
    """
    chance = torch.Generator().manual_seed(0)

    def moved(value: Tensor) -> Tensor:
        if not value.is_floating_point() or not value.numel():
            return value
        sizes = value.abs().nan_to_num(0.0, 0.0, 0.0)
        signs = torch.randint(0, 2, value.shape, generator=chance) * 2 - 1
        return value + signs * sizes.max() * _ROUNDING

    args, kwargs = tree_map_only(Tensor, moved, arguments)
    return (compute(*args, **kwargs) - exact).abs().nan_to_num(0.0, 0.0).max()

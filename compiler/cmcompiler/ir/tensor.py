"""Tensors of a graph: dense arrays in physical shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Tensor:
    """A dense row-major array. Its shape is physical: the last dimension is innermost in memory.

    Compared by identity. Written by exactly one node, unless it is a graph input or a constant.

    Attributes:
        name: unique in its graph, for people.
        dtype: element type.
        shape: outermost dimension first; NHWC for an image.
        data: the array of a constant, of this shape; else None.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: npt.NDArray[Any] | None = field(default=None, repr=False)

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


def same_order(shape: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two dim orders give a shape the same layout: dimensions of size 1 do not matter."""
    kept = [[dim for dim in order if shape[dim] != 1] for order in (first, second)]
    return 0 in shape or kept[0] == kept[1]

"""Tensors of a graph: dense arrays in physical shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A value of the program that a tensor holds.

    Attributes:
        index: of the value, in its method.
        shape: logical shape, torch's `x.shape`.
        dim_order: the logical dimension that each physical one holds, outermost first.
    """

    index: int
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]

    def to_logical(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value of a tensor's array."""
        physical = array.reshape([self.shape[axis] for axis in self.dim_order])
        return np.ascontiguousarray(physical.transpose(np.argsort(self.dim_order)))

    def permuted(self, order: Sequence[int]) -> HeldValue:
        """This value with its physical dimensions in another order."""
        return replace(self, dim_order=tuple(self.dim_order[axis] for axis in order))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A dense row-major array. Its shape is physical: the last dimension is innermost in memory.

    Compared by identity. Written by exactly one node, unless it is a graph input or a constant.

    Attributes:
        name: unique in its graph, for people.
        dtype: element type.
        shape: outermost dimension first; NHWC for an image.
        data: the array of a constant, of this shape; else None.
        held: the value of the program that it holds, of those that instructions compute.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: npt.NDArray[Any] | None = field(default=None, repr=False)
    held: HeldValue | None = field(default=None, repr=False)

    @cached_property
    def numel(self) -> int:
        return prod(self.shape)

    @cached_property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


def same_order(shape: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two dim orders give a shape the same layout: dimensions of size 1 do not matter."""
    kept = [[dim for dim in order if shape[dim] != 1] for order in (first, second)]
    return 0 in shape or kept[0] == kept[1]

"""A tensor as a program sees it: logical dimensions and their order in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.tensor import Tensor, same_order


@dataclass(frozen=True)
class Operand:
    """A tensor argument: the graph's physical tensor, and how the program sees it.

    Attributes:
        shape: logical shape, torch's `x.shape`.
        dim_order: the logical dimension that each physical one holds, outermost first.
    """

    tensor: Tensor
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.tensor.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, for each logical dimension."""
        strides, step = [0] * self.rank, 1
        for dim in reversed(self.dim_order):
            strides[dim] = step
            step *= self.shape[dim]
        return tuple(strides)

    @property
    def data(self) -> npt.NDArray[Any] | None:
        """The array of a constant in its logical shape; else None."""
        if self.tensor.data is None:
            return None
        return self.tensor.data.transpose(np.argsort(self.dim_order))

    def physical_axis(self, dim: int) -> int:
        """The physical position of a logical dimension, which may be negative.

        Raises:
            IndexError: no such dimension.
        """
        if not -self.rank <= dim < self.rank:
            raise IndexError(dim)
        return self.dim_order.index(dim % self.rank)

    def is_like(self, other: Operand) -> bool:
        """Whether both have the same shape and dim order."""
        form = (self.dtype, self.shape, self.dim_order)
        return form == (other.dtype, other.shape, other.dim_order)

    def lies_as(self, order: Sequence[int]) -> bool:
        """Whether memory also holds the elements in `order`, ignoring dimensions of size 1."""
        return same_order(self.shape, self.dim_order, order)

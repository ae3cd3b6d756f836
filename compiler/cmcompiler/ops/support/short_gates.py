"""Gates of recurrent layers with int16 activations: int8 weights, sums of 64 bits.

A product is rescaled to int16 as that of a linear layer, then added to the gates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.gates import GateProduct, Int16Array, Narrowing, clamp16
from cmcompiler.ops.support.packing16 import Filters16
from cmcompiler.ops.support.requantize import requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ShortGateProduct(GateProduct):
    """Rows of int16 numbers times constant int8 weights; biases are int64."""

    @classmethod
    def checked(cls, *fields: Any) -> Self:
        """
        Raises:
            ValueError: a shift that no kernel takes.
        """
        product = cls(*fields)
        assert product.requantize.is_long
        return product

    def add(self, gates: Int16Array, rows: npt.NDArray[Any]) -> Int16Array:
        # Exact: sums of products of int16 and int8 numbers are far below 2^53.
        sums = (rows.astype(np.float64) @ self.weights.T.astype(np.float64)).astype(np.int64)
        product = self.requantize(sums + self.bias).astype(np.int64)
        return clamp16(gates.astype(np.int64) + product)

    @property
    def requantize(self) -> Requantize16:
        return Requantize16.of(self.multipliers, self.shifts, INT16, is_long=True)

    @property
    def filters(self) -> Filters16:
        return Filters16.of(self.weights, self.bias, self.requantize)


@dataclass(frozen=True, eq=False)
class FineGateProduct(ShortGateProduct):
    """With weights of 16 bits: the product with the upper eight of them, which has the bias, then
    that with what these leave of each weight.

    Attributes:
        low: the latter.
    """

    low: ShortGateProduct

    @classmethod
    def of(
        cls,
        weights: Int16Array,
        bias: npt.NDArray[np.int64],
        multipliers: tuple[int, ...],
        shifts: tuple[int, ...],
    ) -> FineGateProduct:
        """
        Args:
            weights: up to 127 * 256 in magnitude.
            multipliers, shifts: of products with all of their bits.

        Raises:
            ValueError: a shift that no kernel takes, or larger weights.
        """
        wide = weights.astype(np.int64)
        upper = (wide + 128) >> 8
        if upper.size and not -128 <= upper.min() <= upper.max() <= 127:
            raise ValueError("weights of 16 bits beyond 127 * 256")
        low = ShortGateProduct.checked(
            (wide - (upper << 8)).astype(np.int8), np.zeros_like(bias), multipliers, shifts
        )
        raised = tuple(shift + 8 for shift in shifts)
        return cls.checked(upper.astype(np.int8), (bias + 128) >> 8, multipliers, raised, low)

    def add(self, gates: Int16Array, rows: npt.NDArray[Any]) -> Int16Array:
        return self.low.add(super().add(gates, rows), rows)

    def reordered(self, order: npt.NDArray[np.integer[Any]]) -> Self:
        return replace(super().reordered(order), low=self.low.reordered(order))


@dataclass(frozen=True)
class ShortNarrowing(Narrowing):
    """From a wide number to int16, without a zero point."""

    def __call__(self, x: npt.NDArray[np.integer[Any]]) -> Int16Array:  # type: ignore[override]
        return clamp16(requantize(x, self.multiplier, self.shift))

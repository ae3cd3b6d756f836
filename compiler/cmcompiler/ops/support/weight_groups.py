"""Weights of four bits times a factor for each channel and group of depths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.nibbles import FEWEST, LARGEST
from cmcompiler.ops.support.requantize import Int8Array

SIZES = (32, 64, 128)
"""Depths of a group."""

MOST = 18
"""The largest factor: times 14, the highest of four bits plus 7, it still fits a byte."""

Factors = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False, slots=True)
class WeightGroups:
    """How int8 weights are made up.

    Attributes:
        size: depths of a group; the last one may be smaller.
        factors: [channels, groups].
        nibbles: [channels, depth], from -LARGEST to LARGEST: weights divided by the factors.
    """

    size: int
    factors: Factors
    nibbles: Int8Array

    @classmethod
    def of(cls, weights: Int8Array) -> WeightGroups | None:
        """The largest groups that int8 weights [channels, depth] are made up of, if any.

        Weights that are rounded to eight bits reach 127 somewhere, which no factor makes.
        """
        reach = int(np.abs(weights.astype(np.int16)).max(initial=0))
        if weights.size < FEWEST or not LARGEST < reach <= LARGEST * MOST:
            return None
        for size in reversed(SIZES):
            factors = _factors(weights, size)
            if factors is not None and factors.shape[1] > 1:
                each = np.repeat(factors, size, axis=1)[:, : weights.shape[1]]
                return cls(size, factors, (weights // each.astype(np.int8)).astype(np.int8))
        return None

    def select(self, channels: slice | npt.NDArray[np.int64]) -> WeightGroups:
        return replace(self, factors=self.factors[channels], nibbles=self.nibbles[channels])


def in_groups(values: npt.NDArray[np.int16], size: int) -> npt.NDArray[np.int16]:
    """[channels, groups, size], with zeros at the end."""
    missing = -values.shape[1] % size
    return np.pad(values, ((0, 0), (0, missing))).reshape(len(values), -1, size)


def _factors(weights: Int8Array, size: int) -> Factors | None:
    """The smallest factor of each channel and group; None if some have none."""
    groups = in_groups(weights.astype(np.int16), size)
    reach = np.abs(groups).max(axis=2)
    factors = np.zeros(reach.shape, np.uint8)
    for factor in range(MOST, 0, -1):
        is_multiple = (groups % factor == 0).all(axis=2)
        factors[is_multiple & (reach <= LARGEST * factor)] = factor
    return factors if factors.all() else None

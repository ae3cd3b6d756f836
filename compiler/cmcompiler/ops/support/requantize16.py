"""From sums of int16 activations to int16: the arithmetic of CMSIS-NN and TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import Op
from cmcompiler.ops.support.requantize import (
    LONGEST_SHIFT,
    Int32Array,
    Range16,
    Requantize,
    requantize,
    wrap32,
)

INT16 = Range16(-(1 << 15), (1 << 15) - 1)

MOST_LEFT = 7
"""Places that a sum of 64 bits is shifted left by, at most."""

SHORT_ROUNDING = 1.6
"""Steps of a result: a half, and what a multiplier of 15 bits is off by at the end of the range."""

_LARGEST_REDUCED = (1 << 15) - 1


def reduced(multipliers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Multipliers of 31 bits rounded to 15 bits."""
    return np.minimum((multipliers + (1 << 15)) >> 16, _LARGEST_REDUCED)


def requantize_long(
    sums: npt.NDArray[np.int64],
    multipliers: npt.NDArray[np.int64],
    shifts: npt.NDArray[np.int64],
) -> Int32Array:
    """requantize_s64: sums of up to 47 bits by reduced multipliers, halves rounded up.

    Saturated to 32 bits.
    """
    scaled = ((sums * reduced(multipliers) >> (14 - shifts)) + 1) >> 1
    return np.clip(scaled, -(1 << 31), (1 << 31) - 1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Requantize16(Requantize):
    """From accumulators to int16, whose zero point is 0.

    Attributes:
        is_long: accumulators have 64 bits and multipliers 15, as layers with int64 biases; else
            both have 32 bits, as layers with int32 biases.
    """

    is_long: bool = True

    @classmethod
    def of(
        cls, multipliers: Sequence[int], shifts: Sequence[int], limits: Range16, is_long: bool
    ) -> Requantize16:
        """One multiplier and shift per channel.

        Raises:
            ValueError: a shift that no kernel takes.
        """
        farthest = MOST_LEFT if is_long else LONGEST_SHIFT
        for multiplier, shift in zip(multipliers, shifts, strict=True):
            if not -LONGEST_SHIFT <= shift <= farthest:
                raise ValueError(f"multiplier {multiplier} with shift {shift} out of range")
        return cls(tuple(multipliers), tuple(shifts), 0, limits, is_long)

    def __call__(self, accumulators: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        multipliers = np.array(self.multipliers, np.int64)
        shifts = np.array(self.shifts, np.int64)
        if self.is_long:
            scaled = requantize_long(accumulators.astype(np.int64), multipliers, shifts)
        else:
            scaled = requantize(wrap32(accumulators), multipliers, shifts)
        return self.range.clamp(scaled)


class RequantizedOp(Op):
    """A layer whose weighted sums are requantized to int8 or int16, which its inputs are, too."""

    requantize: Requantize

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.requantize.range.element

    @property
    def is_int16(self) -> bool:
        """Activations are int16."""
        return isinstance(self.requantize, Requantize16)

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return SHORT_ROUNDING

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return self.requantize.error_steps

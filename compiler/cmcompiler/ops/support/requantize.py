"""Fixed-point arithmetic of CMSIS-NN on numpy arrays, bit for bit as in cmrt/arithmetic.h."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import ONE_ROUNDING, Op

Int8Array: TypeAlias = npt.NDArray[np.int8]
Int32Array: TypeAlias = npt.NDArray[np.int32]
IntLike: TypeAlias = "npt.NDArray[np.integer[Any]] | int"

LONGEST_SHIFT = 31

CONSTANT_BITS = 3
"""Fractional bits of the sum of a channel that is one number for all inputs."""

CONSTANT_SCALE = (1 << 30, 1 - CONSTANT_BITS)
"""Multiplier and shift of such a channel: as ordinary as any, so all kernels take it."""

FARTHEST_ZERO_POINT = 32640
"""Of an int8 tensor: so far may a sum of 16 bits be off before it is clamped to 8. A zero point
lies outside int8 where zero is not among the values of a tensor."""


def wrap32(x: npt.NDArray[np.integer[Any]]) -> Int32Array:
    """The low 32 bits of each element as a signed number, as a 32-bit register keeps them."""
    return x.astype(np.int64).astype(np.uint32).view(np.int32)


def doubling_high_multiply(x: IntLike, multiplier: IntLike) -> Int32Array:
    """(2·x·multiplier + 2^31) >> 32: the high half of the doubled product, halves rounded up."""
    product = np.asarray(x, np.int64) * np.asarray(multiplier, np.int64)
    return wrap32((product + (1 << 30)) >> 31)


def rounding_shift_right(x: IntLike, n: IntLike) -> Int32Array:
    """x / 2^n to the nearest integer, halves away from zero; 0 ≤ n ≤ 31."""
    wide, bits = np.asarray(x, np.int64), np.asarray(n, np.int64)
    mask = (np.int64(1) << bits) - 1
    threshold = (mask >> 1) + (wide < 0)
    return wrap32((wide >> bits) + ((wide & mask) > threshold))


def requantize(x: IntLike, multiplier: IntLike, shift: IntLike) -> Int32Array:
    """x · multiplier · 2^(shift - 31) with both of CMSIS-NN's roundings; arrays broadcast.

    Args:
        x: int32 values.
        multiplier: Q31 mantissa, 0 ≤ multiplier < 2^31.
        shift: -31 … 31. A positive one shifts x left first, in 32 bits, wrapping.
    """
    bits = np.asarray(shift, np.int64)
    left = np.maximum(bits, 0)
    shifted = wrap32(np.asarray(x, np.int64) << left)
    return rounding_shift_right(doubling_high_multiply(shifted, multiplier), left - bits)


def rounding_steps(shifts: Iterable[int]) -> float:
    """Largest error of `requantize`, in steps of the result: of its two roundings.

    The first one is half a step before the shift to the right, which is much of one after a shift
    by few bits.
    """
    return max(map(_rounding_steps, shifts))


def _rounding_steps(shift: int) -> float:
    return ONE_ROUNDING + (2.0 ** (shift - 1) if shift < 0 else 0.0)


class Rounding(IntEnum):
    """enum cm_rounding of cmrt/isa.h: which short cuts the rescaling of sums allows."""

    GENERAL = 0
    RIGHT = 1
    HALF_UP = 2


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a quantised activation, both included."""

    minimum: int
    maximum: int

    element: ClassVar[np.dtype[Any]] = np.dtype(np.int8)
    """The type of the activation."""

    @property
    def is_whole(self) -> bool:
        """Nothing is clamped that fits the type."""
        limits = np.iinfo(self.element)
        return (self.minimum, self.maximum) == (limits.min, limits.max)

    def clamp(self, x: IntLike) -> npt.NDArray[Any]:
        """Elements of the type."""
        return np.clip(x, self.minimum, self.maximum).astype(self.element)


@dataclass(frozen=True, slots=True)
class Range16(Range):
    """Limits of an int16 activation, whose zero point is 0."""

    element = np.dtype(np.int16)


class RangedOp(Op):
    """An op whose elements and results have the type of its range."""

    range: Range

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.range.element


@dataclass(frozen=True, slots=True)
class Requantize:
    """From 32-bit accumulators to int8: per-channel rescale, zero point, clamp.

    Attributes:
        multipliers, shifts: one per output channel, the last axis of the accumulators.
        zero_point: of the output.
        range: of the output.
    """

    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    zero_point: int
    range: Range

    @classmethod
    def checked(
        cls,
        multipliers: Sequence[int],
        shifts: Sequence[int],
        channels: int,
        *,
        zero_point: int,
        minimum: int,
        maximum: int,
    ) -> Requantize:
        """With one multiplier per channel, a single one repeated.

        A shift below -31 makes every product 0 and becomes a multiplier of 0.

        Raises:
            ValueError: a count, multiplier, shift, zero point or bound that no kernel can take.
        """
        if len(multipliers) == len(shifts) == 1:
            multipliers, shifts = list(multipliers) * channels, list(shifts) * channels
        if not len(multipliers) == len(shifts) == channels:
            raise ValueError(
                f"{len(multipliers)} multipliers and {len(shifts)} shifts for {channels} channels"
            )
        if abs(zero_point) > FARTHEST_ZERO_POINT:
            raise ValueError(f"output zero point {zero_point} is too far from int8")
        if not -128 <= minimum <= maximum <= 127:
            raise ValueError(f"activation range [{minimum}, {maximum}] outside int8")
        pairs = []
        for multiplier, shift in zip(multipliers, shifts, strict=True):
            if not 0 <= multiplier < 1 << 31 or shift > LONGEST_SHIFT:
                raise ValueError(f"multiplier {multiplier} with shift {shift} out of range")
            pairs.append((multiplier, shift) if shift >= -LONGEST_SHIFT else (0, 0))
        return cls(
            tuple(int(m) for m, _ in pairs),
            tuple(int(s) for _, s in pairs),
            zero_point,
            Range(minimum, maximum),
        )

    @property
    def error_steps(self) -> float:
        """Largest error of outputs whose biases are real numbers, in steps: half a unit of the sum
        is lost when a bias becomes an integer, the rest by `requantize`. Sums whose unit is much of
        a step are those of few or small numbers.
        """
        channels = zip(self.multipliers, self.shifts, strict=True)
        units = (multiplier * 2.0 ** (shift - 31) for multiplier, shift in channels)
        roundings = map(_rounding_steps, self.shifts)
        steps = (rounding + unit / 2 for rounding, unit in zip(roundings, units, strict=True))
        return max(steps)

    def __call__(self, accumulators: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """Outputs for accumulators of shape […, channels], kept modulo 2^32."""
        multipliers, shifts = np.array(self.multipliers), np.array(self.shifts)
        scaled = requantize(wrap32(accumulators), multipliers, shifts)
        return self.range.clamp(scaled.astype(np.int64) + self.zero_point)

    def rounding(
        self,
        multipliers: npt.NDArray[np.integer[Any]],
        shifts: npt.NDArray[np.integer[Any]],
        largest: npt.NDArray[np.integer[Any]],
    ) -> Rounding:
        """The best that gives the same bits for sums of up to the largest absolute values."""
        is_usual = self.is_ordinary(multipliers, shifts, largest).all()
        if not (is_usual and -128 <= self.zero_point <= 127):
            return Rounding.GENERAL
        return Rounding.HALF_UP if self.range.minimum == self.zero_point else Rounding.RIGHT

    def is_ordinary(
        self,
        multipliers: npt.NDArray[np.integer[Any]],
        shifts: npt.NDArray[np.integer[Any]],
        largest: npt.NDArray[np.integer[Any]],
    ) -> npt.NDArray[np.bool_]:
        """Whether each channel suits short cuts in rounding, for sums of up to these magnitudes."""
        is_scaled = (shifts >= -20) & (shifts < 0) & (multipliers >= 1 << 30)
        return np.asarray(is_scaled & (largest < 1 << 29))

    def bounds(
        self,
        multipliers: npt.NDArray[np.integer[Any]],
        shifts: npt.NDArray[np.integer[Any]],
        least: npt.NDArray[np.int64],
        most: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The least and the largest output of each channel, from those of its sums.

        Rescaling keeps the order of sums as long as they fit 32 bits, shifted left as well.
        """
        left = np.maximum(shifts, 0).astype(np.int64)
        fits = (np.abs(least) << left < 1 << 31) & (np.abs(most) << left < 1 << 31)
        lowest, highest = (
            self.range.clamp(
                requantize(wrap32(sums), multipliers, shifts).astype(np.int64) + self.zero_point
            ).astype(np.int64)
            for sums in (least, most)
        )
        limits = self.range
        return np.where(fits, lowest, limits.minimum), np.where(fits, highest, limits.maximum)

    def constant_sums(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sums that give these outputs with CONSTANT_SCALE."""
        return (values - self.zero_point) << CONSTANT_BITS

    def select(self, channels: npt.NDArray[np.bool_]) -> Requantize:
        """The rescaling of some channels."""
        (chosen,) = np.nonzero(channels)
        return replace(
            self,
            multipliers=tuple(self.multipliers[index] for index in chosen),
            shifts=tuple(self.shifts[index] for index in chosen),
        )

    def with_constants(self, constant: npt.NDArray[np.bool_]) -> Requantize:
        """With CONSTANT_SCALE for some channels."""
        multiplier, shift = CONSTANT_SCALE
        return replace(
            self,
            multipliers=tuple(np.where(constant, multiplier, self.multipliers).tolist()),
            shifts=tuple(np.where(constant, shift, self.shifts).tolist()),
        )

    def arguments(self, rounding: Rounding = Rounding.GENERAL) -> list[tuple[str, int]]:
        """The fields of a kernel's argument struct that fill a `struct cm_output`."""
        return [
            ("zero_point", self.zero_point),
            ("minimum", self.range.minimum),
            ("maximum", self.range.maximum),
            ("rounding", rounding),
        ]

"""Banks of filters with int8 weights, and what turns their sums into int8."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.channel_sums import largest_sums, sum_bounds
from cmcompiler.ops.support.requantize import (
    CONSTANT_SCALE,
    Int8Array,
    Int32Array,
    Requantize,
    Rounding,
    wrap32,
)
from cmcompiler.ops.support.weight_groups import WeightGroups

PAIRED_SUMS = 1 << 23
"""Sums are smaller where products with the DSP extension read pairs of bytes: gemm_dsp()."""

P = ParamSpec("P")
T = TypeVar("T")


def once(
    function: Callable[Concatenate[Filters, P], T],
) -> Callable[Concatenate[Filters, P], T]:
    """A function that is computed once for the same filters: many plans of a layer share them."""

    @wraps(function)
    def known(filters: Filters, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = function, args, *kwargs.items()
        if key not in filters.known:
            filters.known[key] = function(filters, *args, **kwargs)
        result: T = filters.known[key]
        return result

    return known


@dataclass(frozen=True, eq=False, slots=True)
class Filters:
    """A bank of filters with all that turns their sums into int8.

    Attributes:
        weights: int8 [channels, depth].
        bias: int32 [channels], to be added to the sum of weight * raw input: the input's zero
            point is folded in.
        multipliers, shifts: int32 [channels].
        rounding: the best for all channels of the layer.
        requantize: of the layer, for its zero point and range.
        is_narrow: products read weights of four bits.
        groups: what weights are unpacked from before they are multiplied, if from four bits and
            factors.
        known: results of functions of these filters.
    """

    weights: Int8Array
    bias: Int32Array
    multipliers: Int32Array
    shifts: Int32Array
    rounding: Rounding
    requantize: Requantize
    is_narrow: bool = False
    groups: WeightGroups | None = None
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, weights: Int8Array, bias: Int32Array, requantize: Requantize, *, is_int8: bool = True
    ) -> Filters:
        """With a bias for raw inputs. Channels that are scaled by zero become sums of zero.

        A channel that is one number for all inputs would bar its layer from the fast roundings if
        its scale is out of the ordinary, or from pairs of weights if its bias is: it becomes a sum
        of its bias, with an ordinary scale.

        Args:
            is_int8: the sums become int8, clamped to the range.
        """
        multipliers = np.array(requantize.multipliers, np.int32)
        shifts = np.array(requantize.shifts, np.int32)
        used = multipliers != 0
        weights, bias = weights * used[:, np.newaxis], bias * used
        multipliers, shifts = np.where(used, multipliers, 1 << 30), np.where(used, shifts, -2)
        largest = largest_sums(weights, bias)
        odd = ~requantize.is_ordinary(multipliers, shifts, largest) | (largest >= PAIRED_SUMS)
        if is_int8 and odd.any():
            values, most = requantize.bounds(multipliers, shifts, *sum_bounds(weights, bias))
            odd &= values == most
            weights = weights * ~odd[:, np.newaxis]
            bias = np.where(odd, requantize.constant_sums(values), bias)
            multipliers = np.where(odd, CONSTANT_SCALE[0], multipliers)
            shifts = np.where(odd, CONSTANT_SCALE[1], shifts)
            largest = largest_sums(weights, bias)
        rounding = requantize.rounding(multipliers, shifts, largest)
        return cls(
            weights.astype(np.int8),
            bias.astype(np.int32),
            multipliers.astype(np.int32),
            shifts.astype(np.int32),
            rounding,
            requantize,
        )

    @classmethod
    def fold(
        cls, weights: Int8Array, bias: Int32Array, zero_point: int, requantize: Requantize
    ) -> Filters:
        """With a bias for inputs less their zero point."""
        sums = weights.astype(np.int64).sum(axis=1)
        return cls.of(weights, wrap32(bias.astype(np.int64) - zero_point * sums), requantize)

    @property
    @once
    def narrowed(self) -> Filters:
        """With weights of four bits if all of them fit, or are of four bits times factors."""
        largest, depth = largest_sums(self.weights, self.bias), self.weights.shape[1]
        fits = nibbles.suits(self.weights) and nibbles.sums_fit(largest, depth)
        return replace(self, is_narrow=fits, groups=WeightGroups.of(self.weights))

    @property
    @once
    def suits_pairs(self) -> bool:
        """Whether any two weights of a depth can be 16 bits, and sums fit 24: gemm_dsp()."""
        most = largest_sums(self.weights, self.bias).max(initial=0)
        lowest = (self.weights == -128).sum(axis=1).max(initial=0)
        return bool(most < PAIRED_SUMS and lowest <= 1)

    @property
    def holds_nibbles(self) -> bool:
        """Whether flash holds weights of four bits."""
        return self.is_narrow or self.groups is not None

    def select(self, channels: slice | npt.NDArray[np.int64]) -> Filters:
        return replace(
            self,
            weights=self.weights[channels],
            bias=self.bias[channels],
            multipliers=self.multipliers[channels],
            shifts=self.shifts[channels],
            groups=self.groups and self.groups.select(channels),
        )

    def output_arguments(self) -> list[tuple[str, int]]:
        """The fields of a kernel's argument struct that fill a `struct cm_output`."""
        return self.requantize.arguments(self.rounding)

    def product_arguments(self, isa: Isa) -> list[tuple[str, int]]:
        """Arguments of cm_isa_gemm_s8 and cm_isa_gemv_s8."""
        return self.requantize.arguments(
            Rounding.GENERAL if self.is_general(isa) else self.rounding
        )

    def is_general(self, isa: Isa) -> bool:
        """Whether the instruction set's shortcuts cannot make the outputs.

        Helium's shift to the right. Loops of scalars take all outputs.
        """
        if isa is Isa.DSP:
            return not self.suits_factors
        return isa is Isa.MVE and not self.suits_saturation

    def clamp_suffix(self, isa: Isa) -> str:
        """The end of the name of a kernel that saturates to int8, for a smaller range."""
        is_short = isa is not Isa.SCALAR and not self.is_general(isa)
        return "_clamped" if is_short and not self.requantize.range.is_whole else ""

    def blocks(self, size: int) -> Iterator[Filters]:
        """Whole blocks of channels; the last channel is repeated to fill the last one."""
        channels = len(self.bias)
        for first in range(0, channels, size):
            yield self.select(np.minimum(np.arange(first, first + size), channels - 1))

    def filled(self, size: int) -> Filters:
        """With the last channel repeated to fill a block of this size."""
        channels = len(self.bias)
        return self.select(np.minimum(np.arange(-(-channels // size) * size), channels - 1))

    @property
    def rescale_dsp(self) -> Int32Array:
        """Multiplier, shift and offset of each channel for microkernels of the DSP extension.

        Where the output's rounding is not general, these are such that
        (sum + ((sum * multiplier) >> 32) + offset) >> shift is the output, but for its roundings
        and clamp.
        """
        if not self.suits_saturation:
            return np.stack([self.multipliers, self.shifts, np.zeros_like(self.shifts)], axis=1)
        bits = -self.shifts.astype(np.int64)
        offsets = (1 << (bits - 1)) + (self.requantize.zero_point << bits)
        doubled = 2 * self.multipliers.astype(np.int64)
        return np.stack([wrap32(doubled), wrap32(bits), wrap32(offsets)], axis=1)

    @property
    def factors(self) -> Int32Array:
        """Multiplier and factor of each channel for matrix products with the DSP extension.

        Where these suit, zero point + ((scaled * factor) >> 32), rounded, is the output, but for
        rounding away from zero and saturation, of scaled = sum + ((sum * multiplier) >> 32). Else
        they are the channel's multiplier and shift.
        """
        if not self.suits_factors:
            return np.stack([self.multipliers, self.shifts], axis=1)
        doubled = 2 * self.multipliers.astype(np.int64)
        factors = np.int64(1) << (32 + self.shifts.astype(np.int64))
        return np.stack([wrap32(doubled), wrap32(factors)], axis=1)

    @property
    @once
    def suits_factors(self) -> bool:
        """Whether 2^32 over what each shift of the layer divides by is a positive int32."""
        scales = zip(self.requantize.multipliers, self.requantize.shifts, strict=True)
        return self.suits_saturation and all(
            shift <= -2 or multiplier == 0 for multiplier, shift in scales
        )

    @property
    def suits_saturation(self) -> bool:
        """Whether right shifts that round and saturation to int8 give the output, clamped."""
        return self.rounding is not Rounding.GENERAL

    @property
    def head(self) -> npt.NDArray[np.int32]:
        """Biases, multipliers and shifts: little-endian int32 [3, channels]."""
        return np.stack([self.bias, self.multipliers, self.shifts]).astype("<i4")

"""Weights as the microkernels of each instruction set read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.channel_sums import largest_sums, sum_bounds
from cmcompiler.ops.support.requantize import (
    CONSTANT_SCALE,
    Int8Array,
    Int32Array,
    Requantize,
    Rounding,
    wrap32,
)

GEMM = Microkernel("gemm_s8", dsp=True, mve=True)
WIDE_GEMM = Microkernel("gemm_s8_w16", dsp=True)
WIDE_GEMV = Microkernel("gemv_s8_w16", dsp=True)
GEMMS = (GEMM, WIDE_GEMM)
PACK_ROWS = Microkernel("pack_rows_s8", dsp=True, mve=True)
PACKED_ROWS = 4
"""CM_PACKED_ROWS of cmrt/isa.h."""
GEMV = Microkernel("gemv_s8", dsp=True, mve=True)
GEMVS = (GEMV, WIDE_GEMV)
GEMV16 = Microkernel("gemv_s16", dsp=True, mve=True)

SHALLOW_DEPTH = 32
"""Largest depth of a matrix product whose weights stay in registers with MVE."""


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
    """

    weights: Int8Array
    bias: Int32Array
    multipliers: Int32Array
    shifts: Int32Array
    rounding: Rounding
    requantize: Requantize

    @classmethod
    def of(
        cls, weights: Int8Array, bias: Int32Array, requantize: Requantize, *, is_int8: bool = True
    ) -> Filters:
        """With a bias for raw inputs. Channels that are scaled by zero become sums of zero.

        A channel that is one number for all inputs would bar its layer from the fast roundings if
        its scale is out of the ordinary: it becomes a sum of its bias, with an ordinary scale.

        Args:
            is_int8: the sums become int8, clamped to the range.
        """
        multipliers = np.array(requantize.multipliers, np.int32)
        shifts = np.array(requantize.shifts, np.int32)
        used = multipliers != 0
        weights, bias = weights * used[:, np.newaxis], bias * used
        multipliers, shifts = np.where(used, multipliers, 1 << 30), np.where(used, shifts, -2)
        largest = largest_sums(weights, bias)
        odd = ~requantize.is_ordinary(multipliers, shifts, largest)
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

    def select(self, channels: slice | npt.NDArray[np.int64]) -> Filters:
        return replace(
            self,
            weights=self.weights[channels],
            bias=self.bias[channels],
            multipliers=self.multipliers[channels],
            shifts=self.shifts[channels],
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


def is_wide(isa: Isa, wide: bool) -> bool:
    """Whether weights are of int16: if requested, for cores with no more than the DSP extension."""
    return wide and isa is Isa.DSP


def gemm(filters: Filters, isa: Isa, wide: bool = False) -> tuple[str, Microkernel]:
    """The end of the name of a kernel that multiplies so, and its microkernel."""
    suffix = product(filters, isa, wide) + filters.clamp_suffix(isa)
    return suffix, WIDE_GEMM if is_wide(isa, wide) else GEMM


def product(filters: Filters, isa: Isa, wide: bool = False) -> str:
    """The suffix of `gemm` without the clamp: kernels that share it share their loops."""
    return _variant(filters, isa, wide) or _half_up(filters, isa)


def gemv(filters: Filters, isa: Isa, wide: bool = False) -> tuple[str, Microkernel]:
    """The end of the name, and the microkernel, for one row."""
    suffix = _variant(filters, isa, wide) + filters.clamp_suffix(isa)
    return suffix, WIDE_GEMV if is_wide(isa, wide) else GEMV


def _half_up(filters: Filters, isa: Isa) -> str:
    """The end of the name of a kernel with a loop for outputs that round half up: with Helium."""
    has_loop = isa is Isa.MVE and filters.rounding is Rounding.HALF_UP
    return "_half_up" if has_loop else ""


def _variant(filters: Filters, isa: Isa, wide: bool) -> str:
    general = "_general" if filters.is_general(isa) else ""
    return f"{'_w16' if is_wide(isa, wide) else ''}{general}"


def gemm_weights(filters: Filters, isa: Isa, wide: bool = False) -> bytes:
    """For cm_isa_gemm_s8, or cm_isa_gemm_s8_w16: filters are the columns of the product."""
    if is_wide(isa, wide):
        return _gemm_dsp_wide(filters)
    return _GEMM_LAYOUTS[GEMM.provider(isa)](filters)


def gemv_weights(filters: Filters, isa: Isa, wide: bool = False) -> bytes:
    """For cm_isa_gemv_s8, or cm_isa_gemv_s8_w16: filters are the columns of the matrix."""
    if is_wide(isa, wide):
        return _columns_dsp_wide(filters)
    provider = GEMV.provider(isa)
    if provider is Isa.SCALAR:
        return gemm_weights(filters, isa)
    if provider is Isa.DSP:
        return _columns_dsp(filters, filters.factors)
    blocks = []
    for block in filters.blocks(8):
        even_before_odd = block.head.reshape(3, 4, 2).transpose(0, 2, 1)
        blocks += [_by_chunks(block.weights, 16), even_before_odd.tobytes()]
    return b"".join(blocks)


def gemv16_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemv_s16: filters are the gates, whose range and zero point are not used."""
    if GEMV16.provider(isa) is Isa.DSP:
        return _columns_dsp(filters, filters.rescale_dsp)
    return gemv_weights(filters, isa)


def gemm_rows(depth: int, isa: Isa) -> int:
    """Rows that cm_isa_gemm_s8 takes at once."""
    is_shallow = isa is Isa.MVE and depth <= SHALLOW_DEPTH
    return 4 if isa is Isa.DSP or is_shallow else 2


def spare_rows(rows: int, depth: int, isa: Isa) -> int:
    """Rows that cm_isa_gemm_s8 computes in vain."""
    if isa is Isa.DSP:  # it takes fours and threes
        return {1: 2, 2: 1, 5: 1}.get(rows, 0)
    at_once = gemm_rows(depth, isa)
    is_one_by_one = at_once > 2 and rows < at_once
    return 3 * rows if is_one_by_one else -rows % at_once


def gemm_workspace(filters: Filters, isa: Isa, rows: int) -> int:
    """Bytes of workspace that cm_isa_gemm_s8 needs.

    Args:
        rows: of a product, or a divisor of those of each.
    """
    depth: int = filters.weights.shape[1]
    only_fours = rows % 4 == 0 and not filters.is_general(isa)
    return {
        Isa.SCALAR: -(-depth // 8) * 32,
        # Four rows of paired bytes, or three of single ones in 16 bits.
        Isa.DSP: 16 + max(1, -(-depth // 4)) * (16 if only_fours else 24),
        Isa.MVE: 0,
    }[GEMM.provider(isa)]


def packs_rows(filters: Filters, isa: Isa) -> bool:
    """Whether cm_isa_pack_rows_s8 saves work: a product packs its rows anyway."""
    return isa is Isa.DSP and not filters.is_general(isa)


def packed_workspace(filters: Filters, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemm_s8 needs after cm_isa_pack_rows_s8."""
    if isa is Isa.DSP:
        return gemm_workspace(filters, isa, PACKED_ROWS)
    depth: int = filters.weights.shape[1]
    return -(-depth // 8) * 32 + PACKED_ROWS * depth + 16  # that may be read after the last row


def gemv_workspace(depth: int, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemv_s8 and cm_isa_gemv_s16 need, for any columns."""
    return {
        Isa.SCALAR: -(-depth // 8) * 8,
        Isa.DSP: 4 + max(1, -(-depth // 4)) * 8,
        Isa.MVE: 0,
    }[GEMV.provider(isa)]


def patch_stride(depth: int, isa: Isa) -> int:
    """Bytes from one row of a gathered matrix to the next."""
    del isa
    return -(-depth // 16) * 16


def _gemm_scalar(filters: Filters) -> bytes:
    """Blocks of four channels: biases, multipliers, shifts, then weights + 128 depth by depth.

    The biases are less 128 times the sum of weights, and zeros fill up to a multiple of 8 depths.
    """
    full = filters.filled(4)
    head = full.head
    head[0] -= wrap32(128 * full.weights.astype(np.int64).sum(axis=1))
    count, depth = full.weights.shape
    blocks = (full.weights.view(np.uint8) ^ 0x80).reshape(count // 4, 4, depth)
    shifted = np.zeros((count // 4, -(-depth // 8) * 8, 4), np.uint8)
    shifted[:, :depth] = blocks.swapaxes(1, 2)
    return _joined(_head_blocks(head, 4), shifted)


def _gemm_dsp(filters: Filters) -> bytes:
    """Blocks of two channels: four starts, weights, then each one's factors.

    Weights of four depths: 0 of both channels, 2 of both, 1 of both, 3 of both. Those of a depth
    are a pair, 256 * second + 128 + first, as are those of two rows. Sums begin with what makes
    them, once the pairs are parted, those of the weights plus the bias: for both rows and both
    channels, one row and both channels, both rows and the second channel, and one of each.
    """
    full = filters.filled(2)
    blocks = _chunk_blocks(full.weights, 2, 4)
    weights = blocks.reshape(*blocks.shape[:2], 2, 2, 2).transpose(0, 1, 4, 3, 2).copy()
    weights[..., 0] ^= -128
    depth = 4 * blocks.shape[1]
    first, second = full.bias.astype(np.int64).reshape(-1, 2).T
    paired, second_paired = _paired(full).reshape(-1, 2).T
    # Sums of rows, which the kernel takes 128 times off, are of numbers plus 128.
    both = 256 * second_paired + paired + (depth << 22)
    starts = [both, first + 256 * second + (depth << 14), second_paired, second]
    return _joined(
        wrap32(np.stack(starts, axis=1)).astype("<i4"),
        weights,
        full.factors.astype("<i4").reshape(-1, 4),
    )


def _gemm_dsp_wide(filters: Filters) -> bytes:
    """Blocks of two channels: starts, weights, then each one's factors.

    Weights are of int16: depths 0 and 2 of each channel, then 1 and 3. The starts of each channel
    are for both rows of a pair and for one.
    """
    full = filters.filled(2)
    starts = wrap32(np.stack([_paired(full), full.bias.astype(np.int64)], axis=1))
    return _wide_blocks(full, 2, starts.astype("<i4").reshape(-1, 4))


def _paired(full: Filters) -> npt.NDArray[np.int64]:
    """The first sums of paired rows: less 256 times those of one row they are the other's.

    A pair is 256 * one + 128 + other.
    """
    sums: npt.NDArray[np.int64] = full.weights.astype(np.int64).sum(axis=1)
    bias: npt.NDArray[np.int64] = full.bias.astype(np.int64)
    paired: npt.NDArray[np.int64] = 257 * bias - 128 * sums
    return paired


def _columns_dsp_wide(filters: Filters) -> bytes:
    """As _columns_dsp; weights as those of _gemm_dsp_wide."""
    full = filters.filled(4)
    return _wide_blocks(full, 4, full.bias.astype("<i4").reshape(-1, 4))


def _wide_blocks(full: Filters, size: int, starts: Int32Array) -> bytes:
    blocks = _chunk_blocks(full.weights, size, 4)
    # Even and odd depths apart, before the channels.
    weights = blocks.reshape(*blocks.shape[:3], 2, 2).transpose(0, 1, 4, 2, 3)
    factors = full.factors.astype("<i4").reshape(-1, 2 * size)
    return _joined(starts, weights.astype("<i2"), factors)


def _columns_dsp(filters: Filters, rescale: Int32Array) -> bytes:
    """Blocks of four channels: biases, 4 depths of each pair in turn, then each one's rescaling.

    Pairs are as those of _gemm_dsp. The first bias of a pair is for both: the kernel takes 256
    times the second sum off it.
    """
    full = filters.filled(4)
    channels = np.minimum(np.arange(len(full.bias)), len(rescale) - 1)
    parts = rescale[channels].astype("<i4").reshape(len(full.bias) // 4, -1)
    first, second = full.bias.astype(np.int64).reshape(-1, 2).T
    biases = wrap32(np.stack([first + 256 * second, second], axis=1)).astype("<i4").reshape(-1, 4)
    blocks = _chunk_blocks(full.weights, 4, 4)
    weights = blocks.reshape(*blocks.shape[:2], 2, 2, 2, 2).transpose(0, 1, 5, 2, 4, 3).copy()
    weights[..., 0] ^= -128
    return _joined(biases, weights, parts)


def _gemm_mve(filters: Filters) -> bytes:
    """Blocks of channels: biases, multipliers, shifts, then 16 depths of each in turn.

    They are of two channels where a product is shallow, of four elsewhere.
    """
    is_shallow = filters.weights.shape[1] <= SHALLOW_DEPTH and filters.suits_saturation
    size = 2 if is_shallow else 4
    full = filters.filled(size)
    return _joined(_head_blocks(full.head, size), _chunk_blocks(full.weights, size, 16))


def _head_blocks(head: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.int32]:
    """The head of each block of so many channels."""
    return np.ascontiguousarray(head.reshape(3, -1, size).swapaxes(0, 1))


def _chunk_blocks(weights: Int8Array, channels: int, size: int) -> Int8Array:
    """As _by_chunks, for each block of channels."""
    depth = weights.shape[1]
    chunks = max(1, -(-depth // size))
    padded = np.zeros((len(weights), chunks * size), np.int8)
    padded[:, :depth] = weights
    return padded.reshape(-1, channels, chunks, size).swapaxes(1, 2)


def _joined(*parts: npt.NDArray[Any]) -> bytes:
    """The bytes of each block's parts in turn."""
    rows = [np.ascontiguousarray(part).reshape(len(part), -1).view(np.uint8) for part in parts]
    return np.hstack(rows).tobytes()


_GEMM_LAYOUTS = {Isa.SCALAR: _gemm_scalar, Isa.DSP: _gemm_dsp, Isa.MVE: _gemm_mve}


def _by_chunks(weights: Int8Array, size: int) -> bytes:
    """`size` depths of each channel in turn, padded with zeros; at least one such chunk."""
    channels, depth = weights.shape
    chunks = max(1, -(-depth // size))
    padded = np.zeros((channels, chunks * size), np.int8)
    padded[:, :depth] = weights
    return padded.reshape(channels, chunks, size).transpose(1, 0, 2).tobytes()

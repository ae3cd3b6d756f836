"""Weights as the microkernels of each instruction set read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, Requantize, Rounding, wrap32

GEMM = Microkernel("gemm_s8", dsp=True, mve=True)
GEMV = Microkernel("gemv_s8", mve=True)
GEMV16 = Microkernel("gemv_s16", dsp=True, mve=True)


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
    def of(cls, weights: Int8Array, bias: Int32Array, requantize: Requantize) -> Filters:
        """With a bias for raw inputs. Channels that are scaled by zero become sums of zero."""
        multipliers = np.array(requantize.multipliers, np.int32)
        shifts = np.array(requantize.shifts, np.int32)
        used = multipliers != 0
        weights, bias = weights * used[:, np.newaxis], bias * used
        multipliers, shifts = np.where(used, multipliers, 1 << 30), np.where(used, shifts, -1)
        largest = 128 * np.abs(weights.astype(np.int64)).sum(axis=1) + np.abs(bias.astype(np.int64))
        rounding = requantize.rounding(multipliers, shifts, largest)
        return cls(
            weights,
            bias,
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

    def blocks(self, size: int) -> Iterator[Filters]:
        """Whole blocks of channels; the last channel is repeated to fill the last one."""
        channels = len(self.bias)
        for first in range(0, channels, size):
            yield self.select(np.minimum(np.arange(first, first + size), channels - 1))

    @property
    def rescale_dsp(self) -> Int32Array:
        """Multiplier, shift and offset of each channel for microkernels of the DSP extension.

        Where the output's rounding is not general and its range is all of int8, these are such
        that (sum + ((sum * multiplier) >> 32) + offset) >> shift is the output, but for its
        roundings.
        """
        if not self.suits_dsp:
            return np.stack([self.multipliers, self.shifts, np.zeros_like(self.shifts)], axis=1)
        bits = -self.shifts.astype(np.int64)
        offsets = (1 << (bits - 1)) + (self.requantize.zero_point << bits)
        doubled = 2 * self.multipliers.astype(np.int64)
        return np.stack([wrap32(doubled), wrap32(bits), wrap32(offsets)], axis=1)

    @property
    def suits_dsp(self) -> bool:
        """Whether rounding and saturation by instructions of the DSP extension give the output."""
        return self.rounding is not Rounding.GENERAL and self.requantize.range.is_int8

    @property
    def head(self) -> npt.NDArray[np.int32]:
        """Biases, multipliers and shifts: little-endian int32 [3, channels]."""
        return np.stack([self.bias, self.multipliers, self.shifts]).astype("<i4")


def gemm_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemm_s8: filters are the columns of the product."""
    return _GEMM_LAYOUTS[GEMM.provider(isa)](filters)


def gemv_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemv_s8: filters are the columns of the matrix."""
    if GEMV.provider(isa) is not Isa.MVE:
        return gemm_weights(filters, isa)
    blocks = []
    for block in filters.blocks(8):
        even_before_odd = block.head.reshape(3, 4, 2).transpose(0, 2, 1)
        blocks += [_by_chunks(block.weights, 16), even_before_odd.tobytes()]
    return b"".join(blocks)


def gemv16_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemv_s16: filters are the gates, whose range and zero point are not used."""
    if GEMV16.provider(isa) is Isa.DSP:
        return _blocks_dsp(filters, 4)
    return gemv_weights(filters, isa)


def gemm_workspace(depth: int, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemm_s8 needs."""
    return {
        Isa.SCALAR: -(-depth // 8) * 8,
        Isa.DSP: -(-depth // 4) * 16,
        Isa.MVE: 0,
    }[GEMM.provider(isa)]


def patch_stride(depth: int, isa: Isa) -> int:
    """Bytes from one row of a gathered matrix to the next."""
    del isa
    return -(-depth // 16) * 16


def _gemm_scalar(filters: Filters) -> bytes:
    """Blocks of four channels: biases, multipliers, shifts, then weights + 128 depth by depth.

    The biases are less 128 times the sum of weights, and zeros fill up to a multiple of 8 depths.
    """
    blocks = []
    for block in filters.blocks(4):
        shifted = (block.weights.view(np.uint8) ^ 0x80).T
        head = block.head
        head[0] -= wrap32(128 * block.weights.astype(np.int64).sum(axis=1))
        blocks += [head.tobytes(), shifted.tobytes(), bytes(4 * (-len(shifted) % 8))]
    return b"".join(blocks)


def _gemm_dsp(filters: Filters) -> bytes:
    return _blocks_dsp(filters, 2)


def _blocks_dsp(filters: Filters, size: int) -> bytes:
    """Blocks of channels: biases, 4 depths of each in turn, then each one's rescaling."""
    blocks = []
    for block in filters.blocks(size):
        blocks += [block.bias.astype("<i4").tobytes(), _by_chunks(block.weights, 4)]
        blocks.append(block.rescale_dsp.astype("<i4").tobytes())
    return b"".join(blocks)


def _gemm_mve(filters: Filters) -> bytes:
    """Blocks of four channels: biases, multipliers, shifts, then 16 depths of each in turn."""
    blocks = []
    for block in filters.blocks(4):
        blocks += [block.head.tobytes(), _by_chunks(block.weights, 16)]
    return b"".join(blocks)


_GEMM_LAYOUTS = {Isa.SCALAR: _gemm_scalar, Isa.DSP: _gemm_dsp, Isa.MVE: _gemm_mve}


def _by_chunks(weights: Int8Array, size: int) -> bytes:
    """`size` depths of each channel in turn, padded with zeros; at least one such chunk."""
    channels, depth = weights.shape
    chunks = max(1, -(-depth // size))
    padded = np.zeros((channels, chunks * size), np.int8)
    padded[:, :depth] = weights
    return padded.reshape(channels, chunks, size).transpose(1, 0, 2).tobytes()

"""Weights of layers with int16 activations, as the microkernels of matrix products read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.nibbles import NibbleBlock
from cmcompiler.ops.support.requantize import Int8Array, Requantize, wrap32
from cmcompiler.ops.support.requantize16 import Requantize16, reduced

GEMM16 = Microkernel("gemm_s16", dsp=True, mve=True)
LONG_GEMM16 = Microkernel("gemm_s16_long")
PACK_ROWS16 = Microkernel("pack_rows_s16", dsp=True)
"""What packs rows where products read windows without patches."""
NARROW_GEMM16 = Microkernel("gemm_s16_w4", dsp=True, mve=True)
LONG_NARROW_GEMM16 = Microkernel("gemm_s16_long_w4")
GEMMS16 = (GEMM16, LONG_GEMM16, NARROW_GEMM16, LONG_NARROW_GEMM16)

PACKED_SHORT_ROWS = 2
"""CM_PACKED_SHORT_ROWS of cmrt/isa.h."""

COLUMNS = 4
"""Channels of a block of weights."""

CHUNK = 8
"""Depths that MVE multiplies at once."""

LEAST_CHUNKS = 2
"""Chunks of LEAST_DEPTH in isa/mve/gemm_s16.c."""

SHORTEST_SHIFT = 3
"""Places to the right that short sums are shifted by, at least."""

Int64Array = npt.NDArray[np.int64]

Bias = npt.NDArray[Any]
"""Biases: int32 for int8 activations, int64 or int32 for int16 ones."""


@dataclass(frozen=True, eq=False, slots=True)
class Filters16:
    """A bank of filters with all that turns their sums into int16.

    Attributes:
        weights: int8 [channels, depth].
        bias: int64 [channels].
        is_short: every final sum fits 32 bits, and 15 bits of a multiplier make its output.
        is_narrow: flash holds weights of four bits, which are unpacked before they are multiplied.
    """

    weights: Int8Array
    bias: Int64Array
    requantize: Requantize16
    is_short: bool
    is_narrow: bool = False

    @classmethod
    def of(cls, weights: Int8Array, bias: Bias, requantize: Requantize) -> Filters16:
        """Channels that are scaled by zero become sums of zero."""
        assert isinstance(requantize, Requantize16)
        multipliers, shifts = np.array(requantize.multipliers), np.array(requantize.shifts)
        used = multipliers != 0
        weights, bias = weights * used[:, np.newaxis], bias.astype(np.int64) * used
        shifts = np.where(used, shifts, -SHORTEST_SHIFT)
        largest = np.abs(bias) + (np.abs(weights.astype(np.int64)).sum(axis=1) << 15)
        is_short = requantize.is_long and bool(
            (largest < 1 << 31).all() and (shifts <= -SHORTEST_SHIFT).all()
        )
        scales = tuple(multipliers.tolist()), tuple(shifts.tolist())
        own = Requantize16(*scales, 0, requantize.range, requantize.is_long)
        return cls(weights.astype(np.int8), bias, own, is_short)

    @property
    def narrowed(self) -> Filters16:
        """With weights of four bits if all of them fit."""
        fits = nibbles.suits(self.weights) and self.weights.shape[1] > CHUNK
        return replace(self, is_narrow=fits)

    def part(self, channels: slice) -> Filters16:
        """Some channels, with the same kernel."""
        chosen = np.zeros(len(self.bias), np.bool_)
        chosen[channels] = True
        return Filters16(
            self.weights[channels],
            self.bias[channels],
            Requantize16(
                self.requantize.multipliers[channels],
                self.requantize.shifts[channels],
                0,
                self.requantize.range,
                self.requantize.is_long,
            ),
            self.is_short,
            self.is_narrow,
        )

    @property
    def suffix(self) -> str:
        """The end of the name of a kernel that multiplies so."""
        return f"_s16{self.family}"

    @property
    def family(self) -> str:
        """The end of the name of the kernel's family: sums of 64 bits cost several times more."""
        return ("" if self.is_short else "_long") + ("_w4" if self.is_narrow else "")

    @property
    def microkernel(self) -> Microkernel:
        if self.is_narrow:
            return NARROW_GEMM16 if self.is_short else LONG_NARROW_GEMM16
        return GEMM16 if self.is_short else LONG_GEMM16

    def workspace(self, isa: Isa, rows: int = PACKED_SHORT_ROWS) -> int:
        """Bytes of workspace that the microkernel needs for so many rows at a time."""
        pairs: int = -(-self.weights.shape[1] // 2)
        unpacked = self._block(isa).unpacked + len(self._start) if self.is_narrow else 0
        if not self.is_short:
            return unpacked
        row = 4 * (COLUMNS + pairs)
        packed = {
            Isa.SCALAR: min(rows, PACKED_SHORT_ROWS) * row,
            Isa.DSP: 8 + 8 * pairs,
            Isa.MVE: 0,
        }
        return unpacked + packed[self._provider(isa)]

    def packs_rows(self, isa: Isa) -> bool:
        """Whether cm_isa_pack_rows_s16 saves work: a product packs its rows anyway."""
        return self.is_short and not self.is_narrow and isa is not Isa.MVE

    def _provider(self, isa: Isa) -> Isa:
        return self.microkernel.provider(isa)

    def packed(self, isa: Isa) -> bytes:
        """For the microkernel: filters are the columns of the product."""
        blocks = self._blocks(isa)
        if not self.is_narrow:
            return self._start + blocks
        word, raised = (nibbles.WORD, 0) if self._provider(isa) is Isa.MVE else (4, 8)
        return nibbles.packed(blocks, self._block(isa), word=word, raised=raised, start=self._start)

    def _block(self, isa: Isa) -> NibbleBlock:
        """How the blocks of four channels are made up."""
        channels, depth = self.weights.shape
        chunk, before, after = 1, 48 if self.is_short else 64, 0
        if self._provider(isa) is Isa.DSP:
            chunk, before, after = 2, 16, 24
        elif self._provider(isa) is Isa.MVE:
            chunk = CHUNK
        elif self.is_short:
            chunk = 2
        return NibbleBlock(channels, depth, COLUMNS, chunk, before, after)

    def _blocks(self, isa: Isa) -> bytes:
        """Blocks of four channels with weights of eight bits."""
        count = -(-len(self.bias) // COLUMNS) * COLUMNS
        channels = np.minimum(np.arange(count), len(self.bias) - 1)
        multipliers = np.array(self.requantize.multipliers, np.int64)[channels]
        shifts = np.array(self.requantize.shifts, "<i4")[channels]
        if self._provider(isa) is Isa.DSP:
            return self._paired(channels, reduced(multipliers), shifts)
        if self._provider(isa) is Isa.MVE:
            return self._in_chunks(channels, reduced(multipliers), shifts)
        if self.is_short:
            return self._raised(channels, reduced(multipliers), shifts)
        parts = [
            self.bias[channels].astype("<i8"),
            (reduced(multipliers) if self.requantize.is_long else multipliers).astype("<i4"),
            shifts,
            self.weights[channels],
        ]
        return _depth_by_depth(parts)

    @property
    def _start(self) -> bytes:
        """A `struct cm_short_range`."""
        limits, is_long = self.requantize.range, self.requantize.is_long
        return np.array([limits.minimum, limits.maximum, int(is_long), 0], "<i4").tobytes()

    @property
    def by_channel(self) -> bytes:
        """For short 3x3 kernels without SIMD: limits; per channel bias, scale and its weights."""
        weights = np.zeros((len(self.bias), 12), np.int8)
        weights[:, : self.weights.shape[1]] = self.weights
        places = -np.array(self.requantize.shifts, np.int64) - 2
        return self._start + _joined([self._heads(places), weights])

    @property
    def by_columns(self) -> bytes:
        """For short 3x3 kernels with DSP: limits; per channel pairs of weights, bias, scale."""
        factors = np.int64(1) << (33 + np.array(self.requantize.shifts, np.int64))
        return self._start + _joined([in_pairs(self.weights), self._heads(factors)])

    @property
    def by_patches(self) -> bytes:
        """For short 3x3 kernels with MVE: limits, 16 zeros; per channel weights, bias, scale."""
        multipliers = reduced(np.array(self.requantize.multipliers, np.int64)) << 15
        # The shift is a byte before zeros: the next channel's weights begin with one.
        shifts = np.array(self.requantize.shifts, np.int64) + 1 & 0xFF
        heads = np.stack([self.bias, multipliers, shifts], axis=1).astype("<i4")
        return self._start + bytes(16) + _joined([between_zeros(self.weights), heads])

    def _heads(self, scales: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """For each channel, a short bias, its multiplier and how it is shifted."""
        multipliers = reduced(np.array(self.requantize.multipliers, np.int64))
        heads: npt.NDArray[np.int32]
        heads = np.stack([self.bias, multipliers, scales], axis=1).astype("<i4")
        return heads

    @property
    def by_taps(self) -> bytes:
        """For depthwise kernels: limits, each channel's bias and scale, channels tap by tap."""
        is_long = self.requantize.is_long
        multipliers = np.array(self.requantize.multipliers, np.int64)
        factors = reduced(multipliers) if is_long else multipliers
        scales = np.stack([factors, np.array(self.requantize.shifts, np.int64)], axis=1)
        heads = [self.bias.astype("<i8")[:, np.newaxis], scales.astype("<i4")]
        return self._start + _joined(heads) + np.ascontiguousarray(self.weights.T).tobytes()

    def _paired(self, channels: Int64Array, multipliers: Int64Array, shifts: Int64Array) -> bytes:
        """Blocks of four channels for the DSP extension: starts, weights, multipliers, factors.

        A halfword of weights is 256 times the second channel of a pair plus 128 plus the first;
        two depths of a pair are a word, and words of both pairs alternate.
        """
        pairs = self.bias[channels].reshape(-1, 2)
        starts = wrap32(np.stack([pairs[:, 0] + 256 * pairs[:, 1], pairs[:, 1]], axis=1))
        depth = self.weights.shape[1]
        weights = np.zeros((len(channels), depth + depth % 2), np.int8)
        weights[:, :depth] = self.weights[channels]
        # Block, depth pair, channel pair, depth, channel.
        words = weights.reshape(-1, 2, 2, weights.shape[1] // 2, 2).transpose(0, 3, 1, 4, 2).copy()
        words[..., 0] ^= -128
        factors = np.int64(1) << (33 + shifts.astype(np.int64))
        parts = [starts.astype("<i4"), words, multipliers.astype("<i2"), factors.astype("<i4")]
        return _joined([part.reshape(len(channels) // COLUMNS, -1) for part in parts])

    def _raised(self, channels: Int64Array, multipliers: Int64Array, shifts: Int64Array) -> bytes:
        """Blocks of four channels without SIMD: biases, scales, weights plus 128 depth by depth.

        The biases are less 2^15 times the sum of weights, as activations are raised by that, and
        less what pairs of weights add: see isa/scalar/short_product.h.
        """
        depth = self.weights.shape[1]
        weights = np.zeros((len(channels), depth + depth % 2), np.int8)
        weights[:, :depth] = self.weights[channels]
        raised = weights.view(np.uint8) ^ np.uint8(128)
        starts = self.bias[channels] - (weights.sum(axis=1, dtype=np.int64) << 15)
        heads = (
            wrap32(starts - _products_of_pairs(raised)),
            multipliers,
            -shifts.astype(np.int64) - 2,
        )
        words: list[npt.NDArray[Any]] = [np.asarray(head).astype("<i4") for head in heads]
        return _depth_by_depth([*words, raised])

    def _in_chunks(
        self, channels: Int64Array, multipliers: Int64Array, shifts: Int64Array
    ) -> bytes:
        """Blocks of four channels for MVE: biases, scales, then eight depths of each in turn.

        A multiplier is in the upper half of its word; a shift is less the place that doubling
        would take.
        """
        depth = self.weights.shape[1]
        chunks = max(LEAST_CHUNKS, -(-depth // CHUNK))
        weights = np.zeros((len(channels), chunks * CHUNK), np.int8)
        weights[:, :depth] = self.weights[channels]
        taken = weights.reshape(-1, COLUMNS, chunks, CHUNK).swapaxes(1, 2)
        heads = [self.bias[channels], multipliers << 16, shifts.astype(np.int64) + 1]
        parts = [*(head.astype("<i4") for head in heads), taken]
        return _joined([part.reshape(len(channels) // COLUMNS, -1) for part in parts])


def _products_of_pairs(weights: npt.NDArray[np.uint8]) -> Int64Array:
    """For each channel, the products of two depths' words in turn, less 256 times the next ones.

    A word is the weights of the channel, and of those after it in its block.
    """
    words = np.zeros((weights.shape[1], len(weights) // COLUMNS, COLUMNS + 1), np.uint32)
    for column in reversed(range(COLUMNS)):
        words[..., column] = words[..., column + 1] * 256 + weights[column::COLUMNS].T
    sums = (words[::2] * words[1::2]).sum(axis=0, dtype=np.uint32)
    products: Int64Array = (sums[:, :-1] - 256 * sums[:, 1:]).reshape(-1).astype(np.int64)
    return products


def in_pairs(weights: Int8Array) -> npt.NDArray[np.int16]:
    """For 3x3 kernels, rows 0 and 1, then 1 and 2, of each column."""
    columns = weights.reshape(-1, 3, 3).transpose(0, 2, 1).astype("<i2")
    pairs: npt.NDArray[np.int16]
    pairs = np.stack([columns[:, :, :2], columns[:, :, 1:]], axis=1).reshape(-1, 12)
    return pairs


def between_zeros(weights: Int8Array) -> npt.NDArray[np.uint8]:
    """For 3x3 kernels, the columns between two zero ones, each of three rows and a zero."""
    columns = np.zeros((len(weights), 5, 4), np.int8)
    columns[:, 1:4, :3] = weights.reshape(-1, 3, 3).transpose(0, 2, 1)
    return columns.reshape(len(weights), -1).view(np.uint8)


def _depth_by_depth(parts: Sequence[npt.NDArray[Any]]) -> bytes:
    """Blocks of channels: heads, and the weights, which are the last part."""
    *heads, weights = (part.reshape(len(part) // COLUMNS, COLUMNS, -1) for part in parts)
    return _joined([*heads, weights.swapaxes(1, 2)])


def _joined(parts: Sequence[npt.NDArray[Any]]) -> bytes:
    """The bytes of each block's parts in turn."""
    rows = [np.ascontiguousarray(part).reshape(len(part), -1).view(np.uint8) for part in parts]
    return np.hstack(rows).tobytes()

"""Orders in which the microkernels of each instruction set read weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, wrap32

SHALLOW_DEPTH = 32
"""Largest depth of a matrix product whose weights stay in registers with MVE."""


def gemm_scalar(filters: Filters) -> bytes:
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


def scalar_narrow(filters: Filters) -> bytes:
    """Such an order of weights of four bits plus 8, in words of two depths of four columns.

    From the lowest bits on: columns 0 and 2 of the first depth, then of the second one; then
    columns 1 and 3.
    """
    full = filters.filled(4)
    head = full.head
    head[0] -= wrap32(128 * full.weights.astype(np.int64).sum(axis=1))
    count, depth = full.weights.shape
    nibbles = np.zeros((count, depth + depth % 2), np.uint32)
    nibbles[:, :depth] = full.weights + np.int8(8)
    # Block, word, odd columns, depth, the later ones.
    order = nibbles.reshape(count // 4, 2, 2, -1, 2).transpose(0, 3, 2, 4, 1)
    places = np.arange(0, 32, 4, dtype=np.uint32)
    words = (order.reshape(count // 4, -1, 8) << places).sum(axis=2, dtype=np.uint32)
    return _joined(_head_blocks(head, 4), words.astype("<u4").view(np.uint8))


def gemm_dsp(filters: Filters) -> bytes:
    """Blocks of two channels: four starts, weights, then each one's factors.

    Weights of four depths: 0 of both channels, 2 of both, 1 of both, 3 of both. Those of a depth
    are a number of 16 bits, 256 * first + second. Sums begin with what makes them, once rows and
    channels are parted, those of the weights plus the bias: for both rows and both channels, one
    row and both channels, both rows and the second channel, and one of each.
    """
    blocks = _dsp_pairs(filters)
    second, first = blocks[..., 0], blocks[..., 1]
    # -128 * 256 and less do not fit, 128 * 256 and less do.
    turned = ((first == -128) & (second < 0)).any(axis=(1, 2, 3))
    signs = np.where(turned, -1, 1)
    weights = 256 * signs[:, None, None, None] * first + second
    return _dsp_blocks(filters, _pair_starts(filters.filled(2), signs), weights)


def gemm_dsp_apart(filters: Filters) -> bytes:
    """Such an order with bytes of their own for the weights of each channel.

    The starts of each channel are for both rows of a pair and for one.
    """
    blocks = _dsp_pairs(filters)
    weights = 256 * blocks[..., 1] + (blocks[..., 0] & 255)
    return _dsp_blocks(filters, _row_starts(filters.filled(2)), weights)


def _dsp_pairs(filters: Filters) -> npt.NDArray[np.int64]:
    """Block, four depths, odd ones, later ones, the second channel's weight and the first one's."""
    blocks = _chunk_blocks(filters.filled(2).weights, 2, 4).astype(np.int64)[:, :, ::-1]
    return blocks.reshape(*blocks.shape[:2], 2, 2, 2).transpose(0, 1, 4, 3, 2)


def _pair_starts(full: Filters, signs: npt.NDArray[np.int64]) -> Int32Array:
    """
    Args:
        signs: what the first channel's weights are multiplied by.
    """
    first, second = full.bias.astype(np.int64).reshape(-1, 2).T
    sums = full.weights.astype(np.int64).sum(axis=1).reshape(-1, 2)[:, 0]
    # 256 times the first channel's sums, or 1 more than those with all bits flipped.
    one = 256 * signs * first - 255 * (signs < 0)
    paired = _paired(full).reshape(-1, 2)[:, 1]
    starts = [paired + 257 * one - (signs * sums << 15), second + one, paired, second]
    return wrap32(np.stack(starts, axis=1))


def _row_starts(full: Filters) -> Int32Array:
    """Of each channel for both rows of a pair and for one."""
    starts = np.stack([_paired(full), full.bias.astype(np.int64)], axis=1)
    return wrap32(starts).reshape(-1, 4)


def _dsp_blocks(filters: Filters, starts: Int32Array, pairs: npt.NDArray[np.int64]) -> bytes:
    factors = filters.filled(2).factors.astype("<i4").reshape(-1, 4)
    return _joined(starts.astype("<i4"), pairs.astype("<i2"), factors)


def gemm_dsp_wide(filters: Filters) -> bytes:
    """Blocks of two channels: starts, weights, then each one's factors.

    Weights are of int16: depths 0 and 2 of each channel, then 1 and 3. The starts of each channel
    are for both rows of a pair and for one.
    """
    full = filters.filled(2)
    return _wide_blocks(full, 2, _row_starts(full).astype("<i4"))


def _paired(full: Filters) -> npt.NDArray[np.int64]:
    """The first sums of paired rows: less 256 times those of one row they are the other's.

    A pair is 256 * one + 128 + other.
    """
    sums: npt.NDArray[np.int64] = full.weights.astype(np.int64).sum(axis=1)
    bias: npt.NDArray[np.int64] = full.bias.astype(np.int64)
    paired: npt.NDArray[np.int64] = 257 * bias - 128 * sums
    return paired


def gemv_dsp_wide(filters: Filters) -> bytes:
    """As gemv_dsp; weights as those of gemm_dsp_wide."""
    full = filters.filled(4)
    return _wide_blocks(full, 4, full.bias.astype("<i4").reshape(-1, 4))


def _wide_blocks(full: Filters, size: int, starts: Int32Array) -> bytes:
    blocks = _chunk_blocks(full.weights, size, 4)
    # Even and odd depths apart, before the channels.
    weights = blocks.reshape(*blocks.shape[:3], 2, 2).transpose(0, 1, 4, 2, 3)
    factors = full.factors.astype("<i4").reshape(-1, 2 * size)
    return _joined(starts, weights.astype("<i2"), factors)


def gemv_dsp(filters: Filters, rescale: Int32Array) -> bytes:
    """Blocks of four channels: biases, 4 depths of each pair in turn, then each one's rescaling.

    Those of a depth are a pair, 256 * second + 128 + first. The first bias of a pair is for both:
    the kernel takes 256 times the second sum off it.
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


def gemm_mve(filters: Filters) -> bytes:
    """Blocks of channels: biases, multipliers, shifts, then 16 depths of each in turn.

    They are of two channels where a product is shallow, of four elsewhere.
    """
    size = 2 if is_shallow(filters) else 4
    full = filters.filled(size)
    return _joined(_head_blocks(full.head, size), _chunk_blocks(full.weights, size, 16))


def gemv_mve(filters: Filters) -> bytes:
    """Blocks of eight channels: 16 depths of each in turn, then heads with even ones first."""
    blocks = []
    for block in filters.blocks(8):
        even_before_odd = block.head.reshape(3, 4, 2).transpose(0, 2, 1)
        blocks += [_by_chunks(block.weights, 16), even_before_odd.tobytes()]
    return b"".join(blocks)


def is_shallow(filters: Filters) -> bool:
    """Whether Helium's weights stay in registers."""
    depth: int = filters.weights.shape[1]
    return depth <= SHALLOW_DEPTH and filters.suits_saturation


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


def _by_chunks(weights: Int8Array, size: int) -> bytes:
    """`size` depths of each channel in turn, padded with zeros; at least one such chunk."""
    channels, depth = weights.shape
    chunks = max(1, -(-depth // size))
    padded = np.zeros((channels, chunks * size), np.int8)
    padded[:, :depth] = weights
    return padded.reshape(channels, chunks, size).transpose(1, 0, 2).tobytes()


def dsp_narrow(filters: Filters) -> bytes:
    """Blocks of four channels: four starts, weights of four bits, then each one's factors.

    A halfword is a depth of all four, 4096 * last + 256 * (third + 8) + 16 * (second + 8) + first
    + 8; those of depths 0 and 2 are a word, then those of 1 and 3. Sums begin with what is parted
    into the biases: without 1/16 of each sum but the first, they are those of fewer channels.
    """
    full = filters.filled(4)
    first, second, third, last = full.bias.astype(np.int64).reshape(-1, 4).T
    upper = third + 16 * last
    rest = 16 * second + 256 * upper
    starts = wrap32(np.stack([first + rest, rest, upper, 16 * last], axis=1))
    # Block, chunk, channel, depth; then depths before channels, even ones first.
    blocks = _chunk_blocks(full.weights, 4, 4).astype(np.int64) + np.array([[8], [8], [8], [0]])
    halfwords = (blocks << np.array([[0], [4], [8], [12]])).sum(axis=2)
    halfwords = halfwords.reshape(*halfwords.shape[:2], 2, 2).swapaxes(2, 3)
    return _joined(
        starts.astype("<i4"), halfwords.astype("<i2"), full.factors.astype("<i4").reshape(-1, 8)
    )


def gemm_mve_narrow(filters: Filters) -> bytes:
    """Blocks of four channels: heads, then 16 depths of each pair in turn.

    A byte is 16 * second + first.
    """
    full = filters.filled(4)
    chunks = _chunk_blocks(full.weights, 4, 16)
    return _joined(_head_blocks(full.head, 4), 16 * chunks[:, :, 1::2] + chunks[:, :, ::2])


def gemv_mve_narrow(filters: Filters) -> bytes:
    """Blocks of eight channels: 16 depths of each pair in turn, then heads with even ones first."""
    full = filters.filled(8)
    chunks = _chunk_blocks(full.weights, 8, 16)
    heads = full.head.reshape(3, -1, 4, 2).transpose(1, 0, 3, 2)
    return _joined(16 * chunks[:, :, 1::2] + chunks[:, :, ::2], np.ascontiguousarray(heads))

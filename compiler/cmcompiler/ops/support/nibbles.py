"""Weights of four bits: two in a byte of flash, unpacked for some columns at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import ALIGN
from cmcompiler.ops.support.requantize import Int8Array

LEAST, LARGEST = -8, 7
"""The range of four bits."""

FEWEST = 256
"""Weights of a layer that are worth the code which unpacks them."""

SUM_BITS = 27
"""Sums are smaller than 2 to this power: 16 times them fit 32 bits, as DSP makes them."""

_RAISED = 8
"""DSP adds this to weights, so sums grow by as many times those of rows."""

_COLUMNS, _BYTES = 16, 4096
"""Columns unpacked at once at least, and bytes that more of them may take."""

WORD = 16
"""Bytes that unpack() of isa/mve/unpack.h makes of low halves, before as many of high ones."""


_HEAD_BYTES = 32
"""Size of a `struct cm_nibbles`."""


def suits(weights: Int8Array) -> bool:
    """Whether a layer's weights are rounded to four bits, and enough to gain by that.

    The largest weight of a channel makes its step, so some weight is as large as can be.
    """
    if weights.size < FEWEST:
        return False
    least, largest = int(weights.min()), int(weights.max())
    return least >= LEAST and largest <= LARGEST and max(-least, largest) >= LARGEST


def sums_fit(largest: npt.NDArray[np.int64], depth: int) -> bool:
    """Whether 16 times the sums, of raised weights, too, fit 32 bits.

    Args:
        largest: bounds of the sums.
    """
    more = _RAISED * 128 * (depth + 3)  # rows are filled up to a multiple of four
    return bool((largest + more < 1 << SUM_BITS).all())


@dataclass(frozen=True, slots=True)
class NibbleBlock:
    """How weights of eight bits are packed: blocks of columns.

    Attributes:
        count: columns of the layer.
        depth: products of a column.
        columns: of a block.
        chunk: a column's weights are filled up to a multiple of it.
        before, after: bytes of a block besides its weights.
        group: depths with a factor for each column; 0 for weights without factors.
    """

    count: int
    depth: int
    columns: int
    chunk: int
    before: int = 0
    after: int = 0
    group: int = 0

    @property
    def weights(self) -> int:
        """Bytes of its weights, of eight bits."""
        return self.columns * max(1, -(-self.depth // self.chunk)) * self.chunk

    @property
    def bytes(self) -> int:
        """All bytes, with weights of eight bits."""
        return self.before + self.weights + self.after

    @property
    def columns_at_once(self) -> int:
        """Columns that are unpacked together: whole blocks."""
        least = -(-_COLUMNS // self.columns)
        blocks = max(least, _BYTES // self.bytes)
        return self.columns * min(blocks, -(-self.count // self.columns))

    @property
    def unpacked(self) -> int:
        """Bytes of workspace for these columns."""
        return -(-self.columns_at_once // self.columns * self.bytes // ALIGN) * ALIGN


def packed(
    layout: bytes,
    block: NibbleBlock,
    *,
    halves: bytes | None = None,
    factors: npt.NDArray[np.uint8] | None = None,
    word: int = WORD,
    raised: int = 0,
    start: bytes = b"",
) -> bytes:
    """Blocks with weights of four bits, behind a `struct cm_nibbles` that tells their sizes.

    Args:
        layout: the blocks with weights of eight bits.
        halves: the same whose weights' lower halves are those of four bits, if they are others.
        factors: of each column and group.
        word: bytes whose lower halves come before as many upper ones.
        raised: added to weights.
        start: of what they are unpacked to.
    """
    blocks = np.frombuffer(layout, np.uint8).reshape(-1, block.bytes)
    end = block.before + block.weights
    low_halves = np.frombuffer(halves or layout, np.uint8).reshape(blocks.shape)
    raised_halves = low_halves[:, block.before : end] + np.uint8(raised)
    pairs = _pairs((raised_halves & 15).astype(np.uint8), word)
    sizes = [block.columns_at_once, block.columns, block.before, block.weights, block.after]
    of_groups = _factors_of_blocks(factors, len(blocks), block)
    group = block.group * block.columns
    head = np.array([*sizes, block.unpacked + len(start), of_groups.shape[1], group], "<i4")
    rows = np.hstack([blocks[:, : block.before], of_groups, pairs, blocks[:, end:]])
    return head.tobytes() + start + rows.tobytes()


def _pairs(halves: npt.NDArray[np.uint8], word: int) -> npt.NDArray[np.uint8]:
    filled = np.pad(halves, ((0, 0), (0, -halves.shape[1] % (2 * word))))
    low, high = np.moveaxis(filled.reshape(len(halves), -1, 2, word), 2, 0)
    pairs: npt.NDArray[np.uint8] = (low | high << 4).reshape(len(halves), -1)
    return pairs


def _factors_of_blocks(
    factors: npt.NDArray[np.uint8] | None, blocks: int, block: NibbleBlock
) -> npt.NDArray[np.uint8]:
    """The factors of each block's columns, group by group, filled up to whole words."""
    if factors is None:
        return np.zeros((blocks, 0), np.uint8)
    columns = np.minimum(np.arange(blocks * block.columns), len(factors) - 1)
    each = factors[columns].reshape(blocks, block.columns, -1).swapaxes(1, 2).reshape(blocks, -1)
    return np.pad(each, ((0, 0), (0, -each.shape[1] % 4)))


def plain(layout: bytes) -> bytes:
    """Weights that are multiplied as they are, behind a `struct cm_nibbles` that says so."""
    return bytes(_HEAD_BYTES) + layout

"""Calls that compute images row by row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from cmcompiler.ir.op import Address, KernelCall, Reach, RowAddress, RowCall, RowCount, Word
from cmcompiler.ir.tensor import Tensor

SAME = Reach()
"""Each row takes the same row."""


def one_row(call: KernelCall, rows: int, moving: Collection[Tensor], **changes: Word) -> KernelCall:
    """A call of a kernel that knows no rows, for the next ones.

    Args:
        rows: of the result.
        moving: tensors whose addresses move along from row to row.
        changes: arguments that are others for one row.
    """

    def moved(name: str, word: Word) -> Word:
        if isinstance(word, Address) and word.tensor in moving:
            return RowAddress(word.tensor, word.offset)
        return changes.get(name, word)

    words = [(name, moved(name, word)) for name, word in call.arguments]
    return replace(call, arguments=words, rows=(0, rows))


def element_rows(call: KernelCall, image: Tensor, output: Tensor) -> list[RowCall]:
    """The rows of a call that computes `count` elements, each of the same one of an image."""
    rows = output.shape[1]
    row = one_row(call, rows, {image, output}, count=RowCount(output.numel // rows))
    return [RowCall(row, {image: SAME})]


def image_rows(tensor: Tensor) -> int | None:
    """The rows of one image [1, H, W, C]; None for any other tensor."""
    return tensor.shape[1] if len(tensor.shape) == 4 and tensor.shape[0] == 1 else None


def turned_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of an image [N, H, W, C] with rows for columns."""
    batch, height, width, channels = shape
    return batch, width, height, channels


def row_bytes(tensor: Tensor) -> int:
    """Bytes of a row of an image [1, H, W, C]."""
    return tensor.nbytes // tensor.shape[1]

"""Channels of copies: slices, concatenations and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.ir.channels import LEAST, MOST, Bounds, Channels, Mask, Tie, TiedRule
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.op import Op

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CopyRule(TiedRule[Op]):
    """A copy that keeps channels side by side.

    Attributes:
        pieces: what is copied.
        axes: of each piece, the dimension of its windows that runs along channels; None for
            windows on a single channel.
        fill: value of what no piece writes; None if there is nothing.
        sources: channels of each input.
        shape: of the output.
        rebuild: makes the op of other pieces and another shape.
    """

    pieces: Sequence[Piece]
    axes: Sequence[int | None]
    fill: int | float | bool | None
    sources: Sequence[int]
    shape: Shape
    rebuild: Callable[[tuple[Piece, ...], Shape], Op]

    @classmethod
    def of(
        cls,
        pieces: Sequence[Piece],
        fill: int | float | bool | None,
        sources: Sequence[int],
        shape: Shape,
        rebuild: Callable[[tuple[Piece, ...], Shape], Op],
    ) -> CopyRule | None:
        """None if some piece moves elements from one channel to several, or to turned ones."""
        if not shape:
            return None
        axes = []
        for piece in pieces:
            axis, is_within = _channel_axis(piece, sources[piece.source], shape[-1])
            if not is_within:
                return None
            axes.append(axis)
        return cls(pieces, axes, fill, sources, shape, rebuild)

    @property
    def ties(self) -> Iterator[Tie]:
        for piece, axis in zip(self.pieces, self.axes, strict=True):
            channels = np.arange(1 if axis is None else piece.reads.shape[axis])
            read = piece.reads.offset % self.sources[piece.source] + channels
            yield Tie(piece.source, read, piece.writes.offset % self.shape[-1] + channels)

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        # Nothing yet but the fill: each piece widens it.
        first = (MOST, LEAST) if self.fill is None else (int(self.fill),) * 2
        least, most = (np.full(self.shape[-1], number) for number in first)
        for tie in self.ties:
            source = inputs[tie.source].select(tie.read)
            np.minimum.at(least, tie.written, source.least)
            np.maximum.at(most, tie.written, source.most)
        return Bounds(least, most)

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        left = []
        for piece, axis, tie in zip(self.pieces, self.axes, self.ties, strict=True):
            source = inputs[piece.source].kept
            count = int(source[tie.read].sum())
            if count:
                reads = _restricted(piece.reads, axis, count, source)
                writes = _restricted(piece.writes, axis, count, output.kept)
                left.append(Piece(piece.source, reads, writes))
        return self.rebuild(tuple(left), (*self.shape[:-1], int(output.kept.sum())))


def _channel_axis(piece: Piece, source: int, result: int) -> tuple[int | None, bool]:
    """The dimension of a piece's windows that runs along channels of both tensors, if one does;
    and whether all others step over whole pixels.
    """
    sizes = (source, result)
    windows = (piece.reads, piece.writes)
    if any(0 in window.shape for window in windows):
        return None, False
    chosen: int | None = None
    for axis, count in enumerate(piece.reads.shape):
        steps = [window.strides[axis] for window in windows]
        if count == 1 or all(step % size == 0 for step, size in zip(steps, sizes, strict=True)):
            continue
        fits = all(
            step == 1 and window.offset % size + count <= size
            for step, window, size in zip(steps, windows, sizes, strict=True)
        )
        if chosen is not None or not fits:
            return None, False
        chosen = axis
    return chosen, True


def _restricted(window: Strided, axis: int | None, count: int, kept: Mask) -> Strided:
    """A window on the kept channels of a tensor.

    Args:
        axis: the dimension that runs along channels.
        count: those that the window has of the kept ones.
    """
    before, after = kept.size, int(kept.sum())
    pixel, channel = divmod(window.offset, before)
    strides = tuple(
        1 if index == axis else step // before * after if step % before == 0 else step
        for index, step in enumerate(window.strides)
    )
    shape = tuple(count if index == axis else size for index, size in enumerate(window.shape))
    return Strided(shape, strides, pixel * after + int(kept[:channel].sum()))

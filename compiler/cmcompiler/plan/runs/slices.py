"""A convolution and the mean or maximum of its image as one node, some channels at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np

from cmcompiler.ir.op import (
    Address,
    GrowableScratch,
    KernelCall,
    Op,
    Packed,
    PackedPart,
    Reach,
    RingRows,
    RowCall,
    Scratch,
    ScratchCount,
    Tensors,
    TiledCall,
    TilePlace,
    TileRows,
    Word,
)
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.pooling import Pool2d
from cmcompiler.plan.runs.calls import NoTiles, TileWords, ends
from cmcompiler.plan.runs.run import Run, RunCalls, run_call
from cmcompiler.plan.runs.tile_calls import TileCalls

Place: TypeAlias = TilePlace | Address


@dataclass(frozen=True)
class SlicedRun(Run):
    """All rows of an image are computed for a slice of its channels, and reduced to a pixel.

    Attributes:
        channels: of a slice; a divisor of all.
    """

    channels: int

    @property
    def slices(self) -> Sequence[range]:
        count = self.parts[0].outputs[0].shape[3]
        return [range(c, c + self.channels) for c in range(0, count, self.channels)]

    @property
    def bytes(self) -> int:
        """Bytes of a slice of the image."""
        return prod(self.parts[0].outputs[0].shape[:3]) * self.channels

    def tile_calls(self, tiled: TiledCall) -> Iterator[TileCalls]:
        layer, count = self.layer(tiled), len(self.slices)
        assert layer is not None
        rows = len(tiled.rows_for(0, 1))
        elements = layer.outputs[0].numel // count
        yield TileCalls(tiled.call.typed, count, rows, elements, layer.op.macs // count)

    def _call(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> RowCall:
        image, convolution = self.parts[0].outputs[0], self.parts[0].op
        assert isinstance(convolution, Conv2d)
        height, window = image.shape[1], convolution.window
        slice_of = replace(image, shape=(*image.shape[:3], self.channels))
        tile = TileRows(TilePlace(0), slice_of.nbytes // height, height, height)
        seen = Reach(window.stride[0], -window.padding[0], window.reach[0] - 1 - window.padding[0])
        convolved = self._sliced(0, (inputs[0], slice_of), isa)
        reduced = self._sliced(1, (slice_of, outputs[0]), isa)
        every = Reach(1, 0, height - 1)
        rows = Reach() if reduced[0].rows[1] > 1 else every
        tiled = (
            _call_of(0, convolved, ((inputs[0], seen), (tile, Reach()))),
            _call_of(1, reduced, ((tile, rows), (outputs[0], Reach(0, 0, 0)))),
        )
        call = run_call(RunCalls(tiled, len(self.slices)), 1, (0, 1), (self.bytes, 0))
        return replace(call, reads={inputs[0]: Reach(1, 0, inputs[0].shape[1] - 1)})

    def _sliced(self, part: int, images: tuple[Tensor, Tensor], isa: Isa) -> Sequence[KernelCall]:
        """The calls of an operator for each slice.

        Args:
            images: that it reads and writes.
        """
        source, result = images
        calls = []
        for channels in self.slices:
            op = _of_channels(self.parts[part].op, channels)
            made = replace(result, shape=(*result.shape[:3], len(channels)))
            own = op.kernel_calls((source,), (made,), isa)
            if len(own) != 1:
                raise NoTiles
            places: dict[Tensor, Place] = {source: Address(source), made: TilePlace(0)}
            if part == 1:
                places = {source: TilePlace(0), made: Address(result, channels.start)}
            calls.append(_placed(own[0], places))
        if len({call.kernel for call in calls}) > 1:
            raise NoTiles
        return _with_shared_constants(calls)


def _of_channels(op: Op, channels: range) -> Op:
    """An operator for some output channels."""
    if isinstance(op, Conv2d):
        chosen = np.zeros(len(op.bias), bool)
        chosen[channels.start : channels.stop] = True
        return op.of_channels(op.weights[chosen], op.bias[chosen], op.requantize.select(chosen))
    assert isinstance(op, Pool2d)
    return replace(op, output_shape=(*op.output_shape[:3], len(channels)))


def _placed(call: KernelCall, places: dict[Tensor, Place]) -> KernelCall:
    """The call with the places of a slice."""

    def placed(word: Word) -> Word:
        if isinstance(word, Address):
            if word.offset:
                raise NoTiles
            return places[word.tensor]
        if isinstance(word, RingRows):
            place = places[word.tensor]
            rows = word.tensor.shape[1]
            return rows if isinstance(place, TilePlace) else RingRows(place.tensor)
        if isinstance(word, GrowableScratch):
            return word.sized(1)
        if isinstance(word, Scratch):
            return Scratch(word.size)
        return word.each if isinstance(word, ScratchCount) else word

    return replace(call, arguments=[(name, placed(word)) for name, word in call.arguments])


def _with_shared_constants(calls: Sequence[KernelCall]) -> Sequence[KernelCall]:
    """The calls with constants of all slices one after the other.

    Raises:
        NoTiles: they differ in size, or other words differ.
    """
    columns = []
    for words in zip(*(call.arguments for call in calls), strict=True):
        name, values = words[0][0], [word for _, word in words]
        packed = [value for value in values if isinstance(value, Packed)]
        if len(packed) == len(values):
            values = list(_joined(packed))
        elif not isinstance(values[0], Address) and len(set(values)) > 1:
            raise NoTiles
        columns.append([(name, value) for value in values])
    rows = zip(*columns, strict=True)
    return [replace(call, arguments=list(row)) for call, row in zip(calls, rows, strict=True)]


def _joined(parts: Sequence[Packed]) -> Iterator[PackedPart]:
    align, size = parts[0].align, len(parts[0].data)
    if any(len(part.data) != size or part.align != align for part in parts):
        raise NoTiles
    step = -(-size // align) * align
    whole = Packed(b"".join(part.data.ljust(step, b"\0") for part in parts), align)
    for index in range(len(parts)):
        yield PackedPart(whole, index * step)


def _call_of(
    part: int,
    calls: Sequence[KernelCall],
    touched: tuple[tuple[Tensor | TileRows, Reach], ...],
) -> TiledCall:
    rows = calls[0].rows
    words = TileWords(tuple(ends(calls)), len(calls))
    return words.call(part, rows, Reach(1, 0, rows[1] - 1), touched)

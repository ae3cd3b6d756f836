"""The kernel calls of a run: those of narrow images, with the arguments that depend on the tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from cmcompiler.ir.op import (
    Address,
    GrowableScratch,
    KernelCall,
    Narrow,
    PackedPart,
    Patch,
    Reach,
    RingRows,
    Scratch,
    ScratchCount,
    TiledCall,
    TilePlace,
    TileRows,
    Word,
    Words,
)
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.strip import Strip
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.runs.tiling import Tile, Tiling

WORD = 1 << 32

T = TypeVar("T")


class NoTiles(Exception):
    """A run cannot be computed in such tiles."""


@dataclass(frozen=True)
class TileImage:
    """An image of a run: one that lies elsewhere, with all columns, or a tile of one.

    Attributes:
        tensor: the whole image.
        part: of the run's scratch; None for an image that lies elsewhere.
        columns: in memory.
        ring: rows in memory, of a tile.
    """

    tensor: Tensor
    part: TilePlace | None
    columns: int
    ring: int

    @property
    def pixel(self) -> int:
        return self.tensor.shape[3] * self.tensor.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        return self.columns * self.pixel

    def place(self, columns: range, start: int) -> Word:
        """Where the first of some columns lies.

        Args:
            start: the column at which the tile begins.
        """
        if self.part is None:
            return Address(self.tensor, columns.start * self.pixel)
        return self.part.after((columns.start - start) * self.pixel)

    @property
    def bytes(self) -> int:
        """In the scratch of the run."""
        return aligned(self.ring * self.row_bytes)

    @property
    def rows(self) -> Word:
        return RingRows(self.tensor) if self.part is None else self.ring

    @property
    def touched(self) -> Tensor | TileRows:
        if self.part is None:
            return self.tensor
        return TileRows(self.part, self.row_bytes, self.ring, self.tensor.shape[1])


@dataclass(frozen=True)
class TileImages:
    """The images of a run.

    Attributes:
        every: from its input to its output; those between are tiles.
        kept: those of which rows are kept, by the index of their tiles.
        tile_bytes, kept_bytes: of scratch for tiles, and from turn to turn for kept rows.
    """

    every: Sequence[TileImage]
    kept: Mapping[int, TileImage]
    tile_bytes: int
    kept_bytes: int

    @classmethod
    def of(
        cls, tensors: Sequence[Tensor], tiling: Tiling, strip: Strip | None = None
    ) -> TileImages:
        """
        Args:
            strip: that the last image is.
        """
        every, kept, kept_bytes = [], {}, 0
        places, tile_bytes = _places(tensors, tiling)
        for index, tensor in enumerate(tensors):
            part = places.get(index)
            columns = tensor.shape[2] if part is None else tiling.widths[index]
            every.append(TileImage(tensor, part, columns, tiling.heights[index]))
            if rows := tiling.kept_rows(index):
                place = TilePlace(kept_bytes, kept=True)
                kept[index] = TileImage(tensor, place, tensor.shape[2], rows)
                kept_bytes += kept[index].bytes
        if strip is not None:
            every[-1] = replace(every[-1], columns=strip.row_bytes // every[-1].pixel)
        return cls(every, kept, tile_bytes, kept_bytes)


def _places(tensors: Sequence[Tensor], tiling: Tiling) -> tuple[dict[int, TilePlace], int]:
    """Where the tiles of the images between operators lie, and the bytes of all.

    Those whose columns the next tile takes over have places of their own. Of the others each shares
    its place with all but its neighbours: one begins at the start, the next one ends at the end.
    """
    sizes = {
        index: aligned(tiling.heights[index] * tiling.widths[index] * row_bytes(tensor) // width)
        for index, tensor in enumerate(tensors[1:-1], 1)
        for width in (tensor.shape[2],)
    }
    places, start = {}, 0
    for index in filter(tiling.hands_on, sizes):
        places[index] = TilePlace(start)
        start += sizes[index]
    shared = {index: size for index, size in sizes.items() if index not in places}
    end = start + max((shared[i] + shared.get(i + 1, 0) for i in shared), default=0)
    for index, size in shared.items():
        places[index] = TilePlace(start if index % 2 else end - size)
    return places, end


def tiled_call(
    part: int, op: Convolution, images: Sequence[TileImage], tiling: Tiling, isa: Isa
) -> TiledCall:
    """The call of an operator of a run, the `part`-th.

    Raises:
        NoTiles: tiles need kernels of their own, or do not follow each other evenly.
    """
    if not tiling.is_even:
        raise NoTiles
    source, result = images[part : part + 2]
    operator = _Part(op, part, source, result, tiling)
    calls = tuple(operator.call(tile, isa) for tile in ends(tiling.tiles))
    tiles = TileWords(calls, len(tiling.tiles))
    window = op.window
    reads = Reach(window.stride[0], -window.padding[0], window.reach[0] - 1 - window.padding[0])
    touched = ((source.touched, reads), (result.touched, Reach()))
    rows = (0, op.output_shape[1])
    return tiles.call(part, rows, tiling.made[part + 1], touched)


@dataclass(frozen=True)
class TileWords:
    """A call for the first two tiles and the last two, of which those between are copies.

    Attributes:
        count: number of tiles.
    """

    every: tuple[KernelCall, ...]
    count: int

    def call(
        self,
        part: int | None,
        rows: tuple[int, int],
        made: Reach,
        touched: tuple[tuple[Tensor | TileRows, Reach], ...],
    ) -> TiledCall:
        """The call for all tiles: see TiledCall.

        Args:
            rows: all that it computes.
            made: those for a row of the run.

        Raises:
            NoTiles: kernels differ, or words do not grow evenly.
        """
        if len({call.kernel for call in self.every}) > 1:
            raise NoTiles
        first = replace(self.every[0], arguments=self._words[0], rows=rows)
        counts = [1] * len(self.every)
        if len(self.every) > 1:
            counts[1] += self.count - len(self.every)
        alike = tuple(zip(self.every, counts, strict=True))
        return TiledCall(part, first, made, self._patches, touched, alike)

    @cached_property
    def _words(self) -> list[Words]:
        """The arguments of each call, with scratch that is enough for all."""
        size = len(self.every[0].arguments)
        shared = [_largest([call.arguments[at][1] for call in self.every]) for at in range(size)]
        return [
            [
                (name, word if own is None else own)
                for (name, word), own in zip(call.arguments, shared, strict=True)
            ]
            for call in self.every
        ]

    @property
    def _patches(self) -> tuple[Patch, ...]:
        columns = zip(*map(filled_words, self._words), strict=True)
        patches = (_patch(at, values, self.count) for at, values in enumerate(columns))
        return tuple(patch for patch in patches if patch is not None)


def ends(tiles: Sequence[T]) -> Sequence[T]:
    """The first two and the last two."""
    return tiles if len(tiles) <= 4 else (*tiles[:2], *tiles[-2:])


@dataclass(frozen=True)
class _Part:
    """An operator of a run with its images."""

    op: Convolution
    index: int
    source: TileImage
    result: TileImage
    tiling: Tiling

    def call(self, tile: Tile, isa: Isa) -> KernelCall:
        """The kernel call for the columns of a tile."""
        source, result, op = self.source, self.result, self.op
        seen, made = tile.seen[self.index], tile.made[self.index + 1]
        places = (
            source.place(seen, tile.starts[self.index]),
            result.place(made, tile.starts[self.index + 1]),
        )
        if not seen or not made:
            raise NoTiles
        padding = op.window.padding[0], self.tiling.padding(tile, self.index)
        count, height, _, channels = op.output_shape
        shape = (count, height, len(made), channels)
        narrow = replace(op, window=replace(op.window, padding=padding), output_shape=shape)
        inputs = replace(source.tensor, shape=_of_width(source.tensor, len(seen)))
        output = replace(result.tensor, shape=shape)
        calls = narrow.row_calls((inputs,), (output,), isa)
        if len(calls) != 1:
            raise NoTiles
        call = calls[0].banded(self.tiling.heights[self.index + 1]).call
        is_dense = source.row_bytes == len(seen) * source.pixel
        if result.part is None:
            # Rows of a strip lie among those of an image.
            is_dense &= result.columns == result.tensor.shape[2]
        own = {
            "input.row_stride": source.row_bytes,
            "output.row_stride": result.row_bytes,
            "input.batch_stride": source.tensor.nbytes,
            "output.batch_stride": result.tensor.nbytes,
        }

        def placed(name: str, word: Word) -> Word:
            if isinstance(word, Address):
                return places[word.tensor is not inputs]
            if isinstance(word, RingRows):
                return source.rows if word.tensor is inputs else result.rows
            if isinstance(word, GrowableScratch):
                return word.sized(1)
            if isinstance(word, ScratchCount):
                return word.each
            if name == "joined":
                return int(bool(word) and is_dense)
            return own.get(name, word)

        words: Words = [(name, placed(name, word)) for name, word in call.arguments]
        return replace(call, arguments=words)


def _of_width(tensor: Tensor, width: int) -> tuple[int, ...]:
    count, height, _, channels = tensor.shape
    return count, height, width, channels


def _largest(words: Sequence[Word]) -> Scratch | None:
    """Scratch that is enough for all tiles; None for other words."""
    sizes = [word.size for word in words if isinstance(word, Scratch)]
    return Scratch(max(sizes)) if sizes else None


def filled_words(arguments: Sequence[tuple[str, Word]]) -> list[Word]:
    """Words of 32 bits: those that share one as one number."""
    words: list[Word] = []
    value = filled = 0
    for _, word in arguments:
        if not isinstance(word, Narrow):
            words.append(word)
            continue
        value |= (int(word) & ((1 << word.bits) - 1)) << filled
        filled += word.bits
        if filled == 32:
            words.append(value)
            value = filled = 0
    return words


def _patch(at: int, values: Sequence[Word], tiles: int) -> Patch | None:
    """How a word of 32 bits depends on the tile; None if it does not.

    Args:
        values: of the first two tiles and the last two.
    """
    if all(value == values[0] for value in values):
        return None
    if len(values) == 2:
        return Patch(at, values[1], 0, values[1])
    steps = 1 if tiles == 3 else tiles - 3
    step, rest = divmod(_distance(values[1], values[-2]), steps)
    if rest:
        raise NoTiles
    return Patch(at, values[1], step % WORD, values[-1])


def _distance(word: Word, other: Word) -> int:
    if isinstance(word, Address) and isinstance(other, Address):
        return other.offset - word.offset
    if isinstance(word, TilePlace) and isinstance(other, TilePlace):
        return other.offset - word.offset
    if isinstance(word, PackedPart) and isinstance(other, PackedPart):
        return other.offset - word.offset
    if isinstance(word, int) and isinstance(other, int):
        return other - word
    if word == other:
        return 0
    raise NoTiles

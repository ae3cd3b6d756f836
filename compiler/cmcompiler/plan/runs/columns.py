"""The calls of a run that move what its next tile or its next band sees, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.movement.copy import COPY_BLOCKS, ColumnArguments
from cmcompiler.ir.op import KernelCall, Reach, TiledCall
from cmcompiler.plan.runs.calls import NoTiles, TileImage, TileWords, ends
from cmcompiler.plan.runs.tiling import Tile, Tiling


@dataclass(frozen=True)
class KeptImage:
    """An image between two operators of a run, some of whose columns are computed once.

    Attributes:
        index: of the image.
        tile: the columns in memory of one tile.
        rows: all columns of the rows that a band leaves to the next one; None if there are none.
    """

    tiling: Tiling
    index: int
    tile: TileImage
    rows: TileImage | None

    @property
    def before(self) -> Sequence[TiledCall]:
        """The calls that fetch columns of the tile to the left, and rows of the band before.

        Raises:
            NoTiles: tiles do not follow each other evenly, or are narrower than what they share.
        """
        shifts = [self._shift] if self.tiling.hands_on(self.index) else []
        return shifts if self.rows is None else [*shifts, self._load(self.rows)]

    @property
    def after(self) -> Sequence[TiledCall]:
        """The calls that keep rows for the next band, once columns have been computed."""
        return [] if self.rows is None else [self._save(self.rows)]

    @property
    def _shift(self) -> TiledCall:
        """Moves columns that the tile to the left had, too, to where this one begins."""
        tiles = self.tiling.tiles
        calls = [
            # The first tile has nothing to move, but the same places.
            self._shifted(tiles[max(number, 1) - 1 : max(number, 1) + 1], number > 0)
            for number in ends(range(len(tiles)))
        ]
        return self._call(calls, self.tiling.seen[self.index], self.tile, self.tile)

    def _shifted(self, pair: Sequence[Tile], moves: bool) -> KernelCall:
        before, tile = pair
        first, start = before.starts[self.index], tile.starts[self.index]
        shared = range(tile.seen[self.index].start, before.seen[self.index].stop)
        if len(shared) > start - first:  # both places overlap
            raise NoTiles
        columns = shared if moves else shared[:0]
        return self._copy(columns, (self.tile, first), (self.tile, start))

    def _load(self, kept: TileImage) -> TiledCall:
        """Moves kept rows of new columns to the tile."""
        seen, rows = self.tiling.seen[self.index], self.tiling.kept_rows(self.index)
        reach = Reach(seen.factor, seen.low, seen.low + rows - 1)
        calls = [
            self._copy(tile.made[self.index], (kept, 0), (self.tile, tile.starts[self.index]))
            for tile in ends(self.tiling.tiles)
        ]
        return self._call(calls, reach, kept, self.tile)

    def _save(self, kept: TileImage) -> TiledCall:
        """Keeps the last rows of new columns."""
        made, rows = self.tiling.made[self.index], self.tiling.kept_rows(self.index)
        last = (self.tiling.band - 1) * made.factor + made.high
        reach = Reach(made.factor, max(last + 1 - rows, made.low), made.high)
        calls = [
            self._copy(tile.made[self.index], (self.tile, tile.starts[self.index]), (kept, 0))
            for tile in ends(self.tiling.tiles)
        ]
        return self._call(calls, reach, self.tile, kept)

    def _copy(
        self, columns: range, source: tuple[TileImage, int], target: tuple[TileImage, int]
    ) -> KernelCall:
        """
        Args:
            source, target: an image, and the column at which that begins in memory.
        """
        (source_image, source_start), (target_image, target_start) = source, target
        arguments = ColumnArguments(
            source=source_image.place(columns, source_start),
            source_row=source_image.row_bytes,
            source_ring=source_image.ring,
            target=target_image.place(columns, target_start),
            target_row=target_image.row_bytes,
            target_ring=target_image.ring,
            bytes=len(columns) * self.tile.pixel,
        )
        return KernelCall.of("copy_columns", arguments, microkernel=COPY_BLOCKS)

    def _call(
        self, calls: Sequence[KernelCall], reach: Reach, source: TileImage, target: TileImage
    ) -> TiledCall:
        rows = (0, self.tile.tensor.shape[1])
        touched = tuple((image.touched, Reach()) for image in dict.fromkeys((source, target)))
        return TileWords(tuple(calls), len(self.tiling.tiles)).call(None, rows, reach, touched)

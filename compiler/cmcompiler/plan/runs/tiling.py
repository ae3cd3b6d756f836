"""Rows and columns that each image of a run takes for a tile of its result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import pairwise

from cmcompiler.ir.op import Reach
from cmcompiler.ops.support.window import Window

Columns = tuple[range, ...]
"""Columns of each image, from the run's input to its output."""


class Keeping(IntEnum):
    """Parts of the tiles of a run that it keeps instead of computing them again.

    Attributes:
        NOTHING: each tile is computed anew.
        COLUMNS: those that the next tile sees, too.
        ROWS: these, and the rows that the next band sees, over the whole width.
    """

    NOTHING = 0
    COLUMNS = 1
    ROWS = 2


@dataclass(frozen=True, slots=True)
class Tile:
    """Columns of each image that belong to a tile of a run's output.

    Attributes:
        seen: those that windows see, within the image.
        made: those that are computed for this tile; of the input, as seen.
        starts: the columns at which the tiles in memory begin; may lie outside of the image.
    """

    seen: Columns
    made: Columns
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Tiling:
    """A run's windows, one after the other, on images of some sizes.

    Attributes:
        windows: of each operator.
        sizes: rows and columns of each image, from the input to the output.
        band: rows of the output that are made at once.
        columns: of a tile of the output.
        keeping: what is kept of images between operators.
    """

    windows: tuple[Window, ...]
    sizes: tuple[tuple[int, int], ...]
    band: int
    columns: int
    keeping: Keeping = Keeping.NOTHING

    @cached_property
    def known_rows(self) -> dict[int, int]:
        """Rows that all bands make of images."""
        return {}

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        width = self.sizes[-1][1]
        tiles: list[Tile] = []
        for x in range(0, width, self.columns):
            columns = range(x, min(x + self.columns, width))
            tiles.append(self._tile(columns, tiles[-1] if tiles else None))
        return tuple(tiles)

    def _tile(self, columns: range, before: Tile | None) -> Tile:
        """
        Args:
            columns: of the output.
            before: the tile to the left.
        """
        seen, made, starts = [columns], [columns], [columns.start]
        for image in reversed(range(len(self.windows))):
            window, width = self.windows[image], self.sizes[image][1]
            first, last = made[-1].start, made[-1].stop - 1
            left = first * window.stride[1] - window.padding[1]
            right = last * window.stride[1] - window.padding[1] + window.reach[1]
            span = range(max(left, 0), max(min(right, width), left, 0))
            seen.append(span)
            is_kept = self.hands_on(image)
            starts.append(left if is_kept else span.start)
            if is_kept and before is not None:
                span = range(max(span.start, before.seen[image].stop), span.stop)
            made.append(span)
        return Tile(tuple(seen[::-1]), tuple(made[::-1]), tuple(starts[::-1]))

    def hands_on(self, image: int) -> bool:
        """Columns of an image that two tiles see are computed once."""
        if not self._is_kept(image) or self.columns >= self.sizes[-1][1]:
            return False
        return self.windows[image].reach[1] > self.windows[image].stride[1]

    def _is_kept(self, image: int) -> bool:
        return self.keeping != Keeping.NOTHING and 0 < image < len(self.windows)

    def kept_rows(self, image: int) -> int:
        """Rows of an image that a band leaves to the next one."""
        if self.keeping != Keeping.ROWS or not self._is_kept(image):
            return 0
        window = self.windows[image]
        return max(window.reach[0] - window.stride[0], 0)

    def padding(self, tile: Tile, part: int) -> int:
        """Columns to the left of an operator's image that its first window in a tile sees."""
        window = self.windows[part]
        return tile.seen[part].start - (
            tile.made[part + 1].start * window.stride[1] - window.padding[1]
        )

    @property
    def is_even(self) -> bool:
        """All tiles but the first and the last take as many columns, each as far from the next."""
        between = self.tiles[1:-1]
        spans = (tile.seen + tile.made for tile in between)
        return all(
            len({len(columns) for columns in image}) == 1
            and len({b.start - a.start for a, b in pairwise(image)}) <= 1
            for image in zip(*spans, strict=True)
        )

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The most columns of each image that a tile takes in memory."""
        return tuple(
            max(tile.seen[image].stop - tile.starts[image] for tile in self.tiles)
            for image in range(len(self.sizes))
        )

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The most rows of each image that a band takes: some for rows that do not exist."""
        taken = (reach.high - reach.low + 1 + (self.band - 1) * reach.factor for reach in self.seen)
        return tuple(min(rows, height) for rows, (height, _) in zip(taken, self.sizes, strict=True))

    @property
    def seen(self) -> tuple[Reach, ...]:
        """The rows of each image that a row of the output takes."""
        return self._reaches[0]

    @property
    def made(self) -> tuple[Reach, ...]:
        """The rows of each image computed for a row of the output."""
        return self._reaches[1]

    @cached_property
    def lead(self) -> int:
        """Rows before the first one of the output, in whole bands, which make only rows between
        that later ones keep.
        """
        most = max(-(-reach.low // reach.factor) for reach in self.made)
        return max(0, -(-most // self.band) * self.band)

    @cached_property
    def bands(self) -> tuple[range, ...]:
        """Rows of the output that are made at once; of the first ones some may not exist."""
        height = self.sizes[-1][0]
        starts = range(-self.lead, height, self.band)
        return tuple(range(start, min(start + self.band, height)) for start in starts)

    @cached_property
    def _reaches(self) -> tuple[tuple[Reach, ...], tuple[Reach, ...]]:
        """Rows of each image that windows see for a row of the output, and those computed for it:
        without those that are kept.
        """
        seen, made = [Reach()], [Reach()]
        for image in reversed(range(len(self.windows))):
            window, later = self.windows[image], made[-1]
            stride, above = window.stride[0], window.padding[0]
            low = later.low * stride - above
            high = later.high * stride - above + window.reach[0] - 1
            seen.append(Reach(later.factor * stride, low, high))
            made.append(Reach(later.factor * stride, low + self.kept_rows(image), high))
        return tuple(seen[::-1]), tuple(made[::-1])


def rows_made(tiling: Tiling, image: int) -> int:
    """Rows of an image that all bands of a run make."""
    if image not in tiling.known_rows:
        tiling.known_rows[image] = _count_rows(tiling, image)
    return tiling.known_rows[image]


def _count_rows(tiling: Tiling, image: int) -> int:
    reach, (height, _) = tiling.made[image], tiling.sizes[image]
    made = 0
    for band in tiling.bands:
        made += max(0, min(reach.end(band.stop), height) - max(reach.first(band.start), 0))
    return made


def pixels_made(tiling: Tiling, image: int) -> int:
    """Pixels of an image that all tiles of all bands make."""
    return rows_made(tiling, image) * sum(len(tile.made[image]) for tile in tiling.tiles)

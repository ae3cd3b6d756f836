"""Rows and columns that each image of a run takes for a tile of its result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cmcompiler.ir.op import Reach
from cmcompiler.ops.support.window import Window

Columns = tuple[range, ...]
"""Columns of each image, from the run's input to its output."""


@dataclass(frozen=True)
class Tiling:
    """A run's windows, one after the other, on images of some sizes.

    Attributes:
        windows: of each operator.
        sizes: rows and columns of each image, from the input to the output.
        band: rows of the output that are made at once.
        columns: of a tile of the output.
    """

    windows: tuple[Window, ...]
    sizes: tuple[tuple[int, int], ...]
    band: int
    columns: int

    @cached_property
    def tiles(self) -> tuple[Columns, ...]:
        width = self.sizes[-1][1]
        starts = range(0, width, self.columns)
        return tuple(self._seen(range(x, min(x + self.columns, width))) for x in starts)

    def _seen(self, columns: range) -> Columns:
        spans = [columns]
        for window, (_, width) in zip(self.windows[::-1], self.sizes[-2::-1], strict=True):
            first, last = spans[-1].start, spans[-1].stop - 1
            left = first * window.stride[1] - window.padding[1]
            right = last * window.stride[1] - window.padding[1] + window.reach[1]
            spans.append(range(max(left, 0), max(min(right, width), left, 0)))
        return tuple(spans[::-1])

    def padding(self, tile: Columns, part: int) -> int:
        """Columns to the left of an operator's image that its first window in a tile sees."""
        window = self.windows[part]
        return tile[part].start - (tile[part + 1].start * window.stride[1] - window.padding[1])

    @property
    def is_even(self) -> bool:
        """All tiles but the first and the last take as many columns, each as far from the next."""
        between = self.tiles[1:-1]
        images = zip(*between, strict=True)
        return all(
            len({len(columns) for columns in image}) == 1
            and len({b.start - a.start for a, b in pairwise(image)}) <= 1
            for image in images
        )

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The most columns of each image that a tile takes."""
        return tuple(max(map(len, each)) for each in zip(*self.tiles, strict=True))

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The most rows of each image that a band takes: some for rows that do not exist."""
        taken = (
            reach.high - reach.low + 1 + (self.band - 1) * reach.factor for reach in self.reaches
        )
        return tuple(min(rows, height) for rows, (height, _) in zip(taken, self.sizes, strict=True))

    @cached_property
    def reaches(self) -> tuple[Reach, ...]:
        """The rows of each image that a row of the output takes."""
        reaches = [Reach()]
        for window in self.windows[::-1]:
            stride, above = window.stride[0], window.padding[0]
            later = reaches[-1]
            low = later.low * stride - above
            high = later.high * stride - above + window.reach[0] - 1
            reaches.append(Reach(later.factor * stride, low, high))
        return tuple(reaches[::-1])


def rows_made(tiling: Tiling, image: int) -> int:
    """Rows of an image that all bands of a run make."""
    reach, (height, _) = tiling.reaches[image], tiling.sizes[image]
    rows = tiling.sizes[-1][0]
    made = 0
    for start in range(0, rows, tiling.band):
        end = min(start + tiling.band, rows)
        made += max(0, min(reach.end(end), height) - max(reach.first(start), 0))
    return made


def pixels_made(tiling: Tiling, image: int) -> int:
    """Pixels of an image that all tiles of all bands make."""
    return rows_made(tiling, image) * sum(len(tile[image]) for tile in tiling.tiles)

"""Windows that slide over images: kernel, stride, padding, dilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.registry import Reader, program_op
from cmcompiler.ir.op import Array, Reach

Pair = tuple[int, int]


def image_op(name: str, parameters: str) -> Callable[[Reader], Reader]:
    """Registers a reader of NCHW images that lie as NHWC, and of NHWC ones."""
    return program_op(*(f"cortex_m::{name}{form}.out{parameters}" for form in ("", "_nhwc")))


@dataclass(frozen=True, slots=True)
class Window:
    """A window over the rows and columns of an NHWC image; each pair is (height, width).

    Attributes:
        padding: at the top and left; bottom and right follow from the output's size.
    """

    kernel: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    @property
    def turned(self) -> Window:
        """With columns for rows."""
        pairs = (self.kernel, self.stride, self.padding, self.dilation)
        return Window(*((pair[1], pair[0]) for pair in pairs))

    @property
    def area(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def keeps_columns(self) -> bool:
        """Whether each window is of one column, the output's own."""
        columns = (self.kernel[1], self.stride[1], self.padding[1])
        return columns == (1, 1, 0)

    @property
    def places(self) -> Iterator[Pair]:
        """Places of the kernel's taps, row by row."""
        return product(range(self.kernel[0]), range(self.kernel[1]))

    @property
    def reach(self) -> Pair:
        """Input rows and columns from the first to the last one that a window covers."""
        return (
            (self.kernel[0] - 1) * self.dilation[0] + 1,
            (self.kernel[1] - 1) * self.dilation[1] + 1,
        )

    def output_size(self, size: Sequence[int], ceil_mode: bool = False) -> Pair:
        """Windows on an image padded equally on opposite sides, as torch counts them.

        In ceil mode they may end, but not begin, past the right padding.
        """
        rows, columns = (self._count(axis, size[axis], ceil_mode) for axis in (0, 1))
        return rows, columns

    def _count(self, axis: int, length: int, ceil_mode: bool) -> int:
        stride, padding = self.stride[axis], self.padding[axis]
        room = length + 2 * padding - self.reach[axis]
        count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
        begins_outside = ceil_mode and (count - 1) * stride >= length + padding
        return count - begins_outside

    def transposed_size(self, height: int, width: int, extra: Pair) -> Pair:
        """Output size of a transposed convolution, with `extra` rows and columns at its end."""
        rows = (height - 1) * self.stride[0] - 2 * self.padding[0] + self.reach[0] + extra[0]
        columns = (width - 1) * self.stride[1] - 2 * self.padding[1] + self.reach[1] + extra[1]
        return rows, columns

    def tap(self, images: Array, size: Sequence[int], place: Pair, fill: int) -> Array:
        """The elements that all windows see at one place of the kernel: [N, height, width, C].

        Args:
            images: [N, H, W, C], not empty.
            size: rows and columns of the output.
            fill: the value outside of the images.
        """
        (rows, above), (columns, beside) = (
            self.inputs(axis, tap, images.shape[axis + 1], size[axis])
            for axis, tap in enumerate(place)
        )
        seen: Array = images[:, rows[:, None], columns]
        inside = above[:, None] & beside
        if not inside.all():
            seen[:, ~inside] = fill
        return seen

    def inputs(
        self, axis: int, tap: int, length: int, count: int
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The row or column nearest to a tap of each output, and whether it is the tap's."""
        places = np.arange(count) * self.stride[axis] + (
            tap * self.dilation[axis] - self.padding[axis]
        )
        inside = np.clip(places, 0, length - 1)
        return inside, inside == places

    def inside(
        self, axis: int, length: int, count: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The first tap of each output in the image, and how many are."""
        starts = np.arange(count) * self.stride[axis] - self.padding[axis]
        first = np.maximum(-(starts // self.dilation[axis]), 0)
        last = np.minimum((length - 1 - starts) // self.dilation[axis], self.kernel[axis] - 1)
        return first, np.maximum(last - first + 1, 0)

    def hangs_over(self, size: Sequence[int], count: Sequence[int]) -> bool:
        """Whether some window reaches beyond an image.

        Args:
            size: rows and columns of the image.
            count: windows down and along.
        """
        inside = (self.inside(axis, size[axis], count[axis])[1] for axis in (0, 1))
        return any((taps < self.kernel[axis]).any() for axis, taps in enumerate(inside))

    @property
    def rows(self) -> Reach:
        """The input rows that a row of outputs takes."""
        low = -self.padding[0]
        return Reach(self.stride[0], low, low + self.reach[0] - 1)

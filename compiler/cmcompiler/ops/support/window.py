"""Windows that slide over images: kernel, stride, padding, dilation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import Address, Word
from cmcompiler.ir.tensor import Tensor

Pair = tuple[int, int]


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
    def area(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def reach(self) -> Pair:
        """Input rows and columns from the first to the last one that a window covers."""
        return (
            (self.kernel[0] - 1) * self.dilation[0] + 1,
            (self.kernel[1] - 1) * self.dilation[1] + 1,
        )

    def output_size(self, height: int, width: int) -> Pair:
        """Windows that fit into an image padded equally on opposite sides."""
        rows = (height + 2 * self.padding[0] - self.reach[0]) // self.stride[0] + 1
        columns = (width + 2 * self.padding[1] - self.reach[1]) // self.stride[1] + 1
        return rows, columns

    def transposed_size(self, height: int, width: int, extra: Pair) -> Pair:
        """Of the output of a transposed convolution, with `extra` rows and columns at its end."""
        rows = (height - 1) * self.stride[0] - 2 * self.padding[0] + self.reach[0] + extra[0]
        columns = (width - 1) * self.stride[1] - 2 * self.padding[1] + self.reach[1] + extra[1]
        return rows, columns

    def taps(self, images: npt.NDArray[Any], size: Pair, fill: int) -> npt.NDArray[Any]:
        """What each window sees: [N, height, width, kernel height, kernel width, C], a view.

        Args:
            images: [N, H, W, C].
            size: rows and columns of the output.
            fill: the value outside of the images.
        """
        padded = self._padded(images, size, fill)
        batch, _, _, channels = padded.shape
        by_image, by_row, by_column, by_channel = padded.strides
        return np.lib.stride_tricks.as_strided(
            padded,
            (batch, *size, *self.kernel, channels),
            (
                by_image,
                by_row * self.stride[0],
                by_column * self.stride[1],
                by_row * self.dilation[0],
                by_column * self.dilation[1],
                by_channel,
            ),
            writeable=False,
        )

    def _padded(self, images: npt.NDArray[Any], size: Pair, fill: int) -> npt.NDArray[Any]:
        margins = [(0, 0)]
        for axis in (0, 1):
            covered = (size[axis] - 1) * self.stride[axis] + self.reach[axis]
            after = covered - self.padding[axis] - images.shape[axis + 1]
            margins.append((self.padding[axis], max(after, 0)))
        if not any(map(sum, margins)):
            return images
        return np.pad(images, [*margins, (0, 0)], constant_values=fill)

    def arguments(self) -> list[tuple[str, Word]]:
        """The fields of a kernel's argument struct that describe the window."""
        return [
            ("kernel_height", self.kernel[0]),
            ("kernel_width", self.kernel[1]),
            ("stride_height", self.stride[0]),
            ("stride_width", self.stride[1]),
            ("pad_top", self.padding[0]),
            ("pad_left", self.padding[1]),
            ("dilation_height", self.dilation[0]),
            ("dilation_width", self.dilation[1]),
        ]


def rows_arguments(name: str, tensor: Tensor) -> list[tuple[str, Word]]:
    """A whole NHWC tensor of bytes as the fields of a `struct cm_rows` called `name`."""
    batch, height, width, channels = tensor.shape
    row = width * channels
    fields: Sequence[tuple[str, Word]] = (
        ("data", Address(tensor)),
        ("batch", batch),
        ("height", height),
        ("width", width),
        ("channels", channels),
        ("batch_stride", height * row),
        ("row_stride", row),
        ("ring", height),
    )
    return [(f"{name}.{field}", value) for field, value in fields]

"""A depthwise convolution with other filters for each band of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d


@dataclass(frozen=True, eq=False)
class BandedConv2d(Op):
    """Convolves each of some equal bands of an image's rows by itself.

    Attributes:
        bands: from the top, each for an image of all rows.
    """

    label = "depthwise_conv2d"

    bands: tuple[DepthwiseConv2d, ...]

    @classmethod
    def of(cls, op: DepthwiseConv2d, shape: tuple[int, ...]) -> BandedConv2d:
        """The bands of a 1x1 convolution with a channel for each channel of each band.

        Args:
            shape: of the image, [N, H, W, C].
        """
        count = op.output_shape[3] // shape[3]
        bands = []
        for band in range(count):
            chosen = np.arange(op.output_shape[3]) % count == band
            bands.append(
                replace(
                    op,
                    weights=op.weights[..., chosen],
                    bias=op.bias[chosen],
                    requantize=op.requantize.select(chosen),
                    output_shape=shape,
                )
            )
        return cls(tuple(bands))

    @property
    def title(self) -> str:
        return f"{self.bands[0].title} of {len(self.bands)} bands"

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.bands[0].element

    @property
    def macs(self) -> int:
        return self.bands[0].macs

    @property
    def _rows(self) -> int:
        """Rows of a band."""
        return self.bands[0].output_shape[1] // len(self.bands)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        results: list[Array] = []
        for number, op in enumerate(self.bands):
            shape = (op.output_shape[0], self._rows, *op.output_shape[2:])
            window = op.window
            first = number * self._rows * window.stride[0] - window.padding[0]
            last = first + (self._rows - 1) * window.stride[0] + window.reach[0] - 1
            window = replace(window, padding=(max(0, -first), window.padding[1]))
            seen = inputs[0][:, max(0, first) : last + 1]
            results += replace(op, window=window, output_shape=shape).reference(seen)
        return (np.concatenate(results, axis=1),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The kernel calls of each band for its rows."""
        return [
            replace(call, rows=(number * self._rows, (number + 1) * self._rows))
            for number, op in enumerate(self.bands)
            for call in op.kernel_calls(inputs, outputs, isa)
        ]

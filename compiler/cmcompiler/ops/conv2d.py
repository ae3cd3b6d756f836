"""Quantised convolution in groups: what ops/convolution.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import (
    ALIGN,
    GrowableScratch,
    KernelCall,
    Packed,
    RowCall,
    Scratch,
    ScratchCount,
    Tensors,
    Word,
    Words,
)
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.packing import Filters
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import rows_arguments

COPY_WINDOWS = Microkernel("copy_windows_s8", mve=True)
"""Gathers patches."""

PATCH_BYTES = 16384
"""Of the patch buffer, if there is room: weights are read once per bufferful."""


STRIP_PIXELS = 16
"""Output pixels whose columns a strip holds at least, if a row has so many."""

LEAST_CHANNELS = 8
"""Of images in strips, whose pixels are copied one by one."""


@dataclass(frozen=True, eq=False)
class Conv2d(Convolution):
    """Convolution of int8 NHWC images, in groups.

    Attributes:
        weights: int8 [C_out, kernel height, kernel width, C_in / groups].
    """

    label = "conv2d"
    groups: int = 1
    patch_bytes: int = 0
    """Of the patch buffer at least, if a row of outputs takes as many."""
    wide: bool = False
    """Its weights are of int16 on cores with the DSP extension."""

    @property
    def depth(self) -> int:
        """Products per output."""
        return int(np.prod(self.weights.shape[1:]))

    @property
    def macs(self) -> int:
        return int(np.prod(self.output_shape)) * self.depth

    @property
    def widened(self) -> Conv2d:
        return replace(self, wide=True)

    def product_of_rows(self, isa: Isa) -> str:
        return packing.gemm(self._filters, isa)[0]

    @property
    def turned(self) -> Conv2d:
        return replace(
            self,
            weights=self.weights.swapaxes(1, 2),
            window=self.window.turned,
            output_shape=turned_shape(self.output_shape),
        )

    def accumulate(self, images: Int8Array) -> npt.NDArray[np.float64]:
        """Sums before the bias; float64 holds them exactly, as they are far below 2^53."""
        size, zero_point = self.output_shape[1:3], self.input_zero_point
        filters = self.weights.reshape(self.groups, -1, *self.weights.shape[1:])
        sums = np.zeros((self.groups, prod(self.output_shape[:3]), filters.shape[1]))
        for place in self.window.places:
            seen = self.window.tap(images, size, place, zero_point).astype(np.float64)
            seen -= zero_point
            pixels = seen.reshape(sums.shape[1], self.groups, -1).transpose(1, 0, 2)
            sums += pixels @ filters[:, :, place[0], place[1]].transpose(0, 2, 1)
        return sums.transpose(1, 0, 2).reshape(self.output_shape)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if isa is Isa.MVE and self._shares_columns(inputs[0]):
            return [self._strip_call(inputs[0], outputs[0], isa)]
        filters = self._filters
        weights = self._packed(filters, isa)
        stride = packing.patch_stride(self.depth, isa)
        patches: Word = NO_PATCHES
        least = 0
        if not self._reads_pixels(inputs[0]):
            rows = packing.gemm_rows(self.depth, isa)
            height, width = self.output_shape[1:3]
            least = min(-(-width // rows), max(1, self.patch_bytes // (rows * stride)))
            most = min(-(-height * width // rows), max(1, PATCH_BYTES // (rows * stride)))
            patches = GrowableScratch(rows * stride * least, max(1, most // least))
            least *= rows
        workspace = packing.gemm_workspace(filters, isa, self.output_shape[2])
        arguments: Words = [
            *rows_arguments(input=inputs[0], output=outputs[0]),
            ("output_pixel", self.output_shape[3]),
            ("weights", Packed(b"".join(weights))),
            ("patches", patches),
            ("workspace", Scratch(workspace)),
            *self.window.arguments(),
            *self._inside(inputs[0]),
            ("groups", self.groups),
            ("group_weights", len(weights[0])),
            ("patch_count", ScratchCount(least) if isinstance(patches, GrowableScratch) else 0),
            ("patch_stride", stride),
            *self.value_arguments(filters.product_arguments(isa)),
        ]
        suffix, microkernel = packing.gemm(filters, isa, self.wide)
        return [KernelCall(f"conv2d{suffix}", arguments, (0, self.output_shape[1]), microkernel)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: self.window.rows})]

    def _strip_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """What neighbouring windows of a row share is in memory once."""
        width, window = self.output_shape[2], self.window
        filters = self.filters(self.weights.swapaxes(1, 2).reshape(len(self.weights), -1))
        chunk = min(width, 2 * -(-width // (2 * -(-width // STRIP_PIXELS))))
        columns = (chunk - 1) * window.stride[1] + window.kernel[1]
        strip = columns * window.kernel[0] * images.shape[3]
        arguments: Words = [
            *rows_arguments(input=images, output=output),
            ("output_pixel", self.output_shape[3]),
            ("weights", Packed(packing.gemm_weights(filters, isa))),
            ("strip", GrowableScratch(-(-strip // ALIGN) * ALIGN, -(-width // chunk))),
            ("workspace", Scratch(packing.gemm_workspace(filters, isa, width))),
            *window.arguments(),
            ("chunk", ScratchCount(chunk)),
            *self.value_arguments(filters.product_arguments(isa)),
        ]
        suffix, microkernel = packing.gemm(filters, isa)
        rows = (0, self.output_shape[1])
        return KernelCall(f"strip_conv2d{suffix}", arguments, rows, microkernel)

    def _shares_columns(self, images: Tensor) -> bool:
        """Whether neighbouring windows do, of pixels that are copied by vectors.

        Helium multiplies windows in pairs, so those of a row should be an even number.
        """
        is_plain = self.groups == 1 and self.window.dilation == (1, 1)
        overlaps = self.window.kernel[1] > self.window.stride[1]
        is_even = self.output_shape[2] % 2 == 0
        return is_plain and overlaps and is_even and images.shape[3] >= LEAST_CHANNELS

    @property
    def _filters(self) -> Filters:
        return self.filters(self.weights.reshape(len(self.weights), -1))

    def _packed(self, filters: Filters, isa: Isa) -> list[bytes]:
        """The weights of each group."""
        size = len(self.weights) // self.groups
        parts = [filters.select(slice(g * size, (g + 1) * size)) for g in range(self.groups)]
        return [packing.gemm_weights(part, isa, self.wide) for part in parts]

    def _inside(self, images: Tensor) -> Words:
        """The output columns whose windows cross no side of the image."""
        _, taps = self.window.inside(1, images.shape[2], self.output_shape[2])
        columns = np.flatnonzero(taps == self.window.kernel[1])
        bounds = (int(columns[0]), int(columns[-1]) + 1) if columns.size else (0, 0)
        return list(zip(("inside", "inside_end"), bounds, strict=True))

    def _reads_pixels(self, images: Tensor) -> bool:
        """Whether each patch is one pixel inside of the input."""
        covered = (
            (count - 1) * stride + 1
            for count, stride in zip(self.output_shape[1:3], self.window.stride, strict=True)
        )
        fits = all(c <= size for c, size in zip(covered, images.shape[1:3], strict=True))
        return self.window.area == 1 and self.window.padding == (0, 0) and fits


NO_PATCHES = 0xFFFFFFFF
"""CM_REF_NONE of cmrt/program.h."""

"""Quantised convolution in groups: what ops/convolution.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.op import (
    ALIGN,
    Array,
    GrowableScratch,
    KernelCall,
    Op,
    Packed,
    RowCall,
    Scratch,
    ScratchCount,
    Tensors,
)
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.arguments import ConvolutionValues, ImageRows, WindowFields
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.product_arguments import (
    ImplicitArguments,
    PatchArguments,
    PatchArguments16,
    PixelArguments,
    PixelArguments16,
    ProductArguments,
    StripArguments,
)
from cmcompiler.ops.support.product_channels import ProductRule
from cmcompiler.ops.support.requantize import Int8Array

COPY_WINDOWS = Microkernel("copy_windows_s8", mve=True)
"""Gathers patches."""

COPY_PIXELS = Microkernel("copy_pixels_s8", mve=True)
"""Fills strips."""

CLAMP = Microkernel("clamp_s8", dsp=True, mve=True)
"""Follows loops that saturate to int8, for outputs of a smaller range."""

PATCH_BYTES = 16384
"""Size of the patch buffer, if there is room: weights are read once per bufferful."""

STRIP_PIXELS = 16
"""Output pixels whose columns a strip holds at least, if a row has so many."""


class _Patches(TypedDict):
    """Fields of PatchArguments."""

    patches: GrowableScratch
    inside: int
    inside_end: int
    patch_count: ScratchCount
    patch_stride: int


@dataclass(frozen=True, eq=False)
class Conv2d(Convolution):
    """Convolution of NHWC images, in groups.

    Attributes:
        weights: int8 [C_out, kernel height, kernel width, C_in / groups].
    """

    label = "conv2d"
    groups: int = 1
    patch_bytes: int = 0
    """Least size of the patch buffer, if a row of outputs takes as many."""
    wide: bool = False
    """Its weights are of int16 on cores with the DSP extension."""

    @property
    def depth(self) -> int:
        """Products per output."""
        return prod(self.weights.shape[1:])

    @property
    def macs(self) -> int:
        return prod(self.output_shape) * self.depth

    @property
    def widened(self) -> Conv2d:
        return replace(self, wide=True)

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """In groups, all stay."""
        return (
            ProductRule(self.weighted_sums(inputs[0], self.weights)) if self.groups == 1 else None
        )

    def product_of_rows(self, isa: Isa) -> str | None:
        if self.is_int16 or self._is_implicit(isa) or self._filters.is_narrow:
            return None
        return packing.product(self._filters, isa)

    @property
    def turned(self) -> Conv2d:
        return replace(
            self,
            weights=self.weights.swapaxes(1, 2),
            window=self.window.turned,
            output_shape=turned_shape(self.output_shape),
        )

    def accumulate(self, images: Array) -> npt.NDArray[np.float64]:
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
        images, output = inputs[0], outputs[0]
        if self.is_int16:
            call = self._short_call(images, output, isa)
        elif self._reads_pixels(images):
            call = self._pixel_call(images, output, isa)
        elif self._is_implicit(isa):
            call = self._implicit_call(images, output, isa)
        elif isa is Isa.MVE and self._shares_columns and not self._is_unpacked(isa):
            call = self._strip_call(images, output, isa)
        else:
            call = self._patch_call(images, output, isa)
        return [call]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: self.window.rows})]

    def _pixel_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        filters = self._filters
        weights = self._packed(filters, isa)
        arguments = PixelArguments(
            *self._operands(images, output, b"".join(weights)),
            workspace=self._workspace(filters, isa),
            depth=self.depth,
            stride_height=self.window.stride[0],
            stride_width=self.window.stride[1],
            groups=self.groups,
            group_weights=len(weights[0]),
            values=self._values(filters, isa),
            joined=self.window.stride == (1, 1) and images.shape[2] == self.output_shape[2],
        )
        return self._call(arguments, filters, isa)

    def _implicit_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """A call that packs windows from where they lie in the images."""
        filters, window, pixel = self._filters, self.window, images.shape[3]
        row, step = window.kernel[1] * pixel, window.stride[1] * pixel
        strip = (packing.PACKED_ROWS - 1) * step + row
        arguments = ImplicitArguments(
            *self._operands(images, output, packing.gemm_weights(filters, isa, self.wide)),
            scratch=Scratch(strip + packing.packed_workspace(filters, isa)),
            depth=self.depth,
            row_depth=row,
            strip=strip,
            step=step,
            left=window.padding[1] * pixel,
            stride_height=window.stride[0],
            pad_top=window.padding[0],
            values=self._values(filters, isa),
        )
        return self._call(arguments, filters, isa)

    def _strip_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """A call that keeps in memory once what neighbouring windows of a row share."""
        width, window = self.output_shape[2], self.window
        filters = self._read_as(self.weights.swapaxes(1, 2))
        chunk = min(width, 4 * -(-width // (4 * -(-width // STRIP_PIXELS))))
        columns = (chunk - 1) * window.stride[1] + window.kernel[1]
        strip = columns * window.kernel[0] * images.shape[3]
        arguments = StripArguments(
            *self._operands(images, output, packing.gemm_weights(filters, isa)),
            workspace=self._workspace(filters, isa),
            strip=GrowableScratch(-(-strip // ALIGN) * ALIGN, -(-width // chunk)),
            window=WindowFields.of(window),
            chunk=ScratchCount(chunk),
            values=self._values(filters, isa),
        )
        return self._call(arguments, filters, isa)

    def _patch_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        filters = self._filters
        weights = self._packed(filters, isa)
        patches = self._patches(images, self.depth, isa)
        arguments = PatchArguments(
            *self._operands(images, output, b"".join(weights)),
            workspace=self._workspace(filters, isa),
            window=WindowFields.of(self.window),
            groups=self.groups,
            group_weights=len(weights[0]),
            values=self._values(filters, isa),
            **patches,
        )
        return self._call(arguments, filters, isa)

    def _patches(self, images: Tensor, depth: int, isa: Isa) -> _Patches:
        """The fields about the patch buffer.

        Args:
            depth: bytes of a patch.
        """
        stride = packing.patch_stride(depth, isa)
        rows = packing.gemm_rows(depth, isa)
        height, width = self.output_shape[1:3]
        least = min(-(-width // rows), max(1, self.patch_bytes // (rows * stride)))
        most = min(-(-height * width // rows), max(1, PATCH_BYTES // (rows * stride)))
        inside = self._inside(images)
        return _Patches(
            patches=GrowableScratch(rows * stride * least, max(1, most // least)),
            inside=inside.start,
            inside_end=inside.stop,
            patch_count=ScratchCount(rows * least),
            patch_stride=stride,
        )

    def _short_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """The kernel call for int16 images. All sizes of its arguments are bytes."""
        filters = self.filters16(self.weights.reshape(len(self.weights), -1))
        size = len(self.weights) // self.groups
        weights = [
            filters.part(slice(group * size, (group + 1) * size)).packed(isa)
            for group in range(self.groups)
        ]
        element = images.dtype.itemsize
        operands = (
            ImageRows.of(images),
            ImageRows.of(output),
            element * self.output_shape[3],
            Packed(b"".join(weights)),
        )
        values = ConvolutionValues(0, 0, 0, 0, 0)
        arguments: ProductArguments
        if self._reads_pixels(images):
            arguments = PixelArguments16(
                *operands,
                workspace=Scratch(filters.workspace(isa)),
                depth=element * self.depth,
                stride_height=self.window.stride[0],
                stride_width=self.window.stride[1],
                groups=self.groups,
                group_weights=len(weights[0]),
                values=values,
                joined=self.window.stride == (1, 1) and images.shape[2] == self.output_shape[2],
            )
        else:
            patches = self._patches(images, element * self.depth, isa)
            arguments = PatchArguments16(
                *operands,
                workspace=Scratch(filters.workspace(isa)),
                window=WindowFields.of(self.window),
                groups=self.groups,
                group_weights=len(weights[0]),
                values=values,
                **patches,
            )
        name = arguments.c_name.removeprefix("cm_") + filters.suffix
        rows = (0, self.output_shape[1])
        return KernelCall.of(
            name,
            arguments,
            rows,
            microkernel=filters.microkernel,
            family=arguments.family + filters.family,
        )

    def _operands(
        self, images: Tensor, output: Tensor, weights: bytes
    ) -> tuple[ImageRows, ImageRows, int, Packed]:
        """The fields that all kernels begin with."""
        return ImageRows.of(images), ImageRows.of(output), self.output_shape[3], Packed(weights)

    def _workspace(self, filters: Filters, isa: Isa) -> Scratch:
        return Scratch(packing.gemm_workspace(filters, isa, self.output_shape[2]))

    def _values(self, filters: Filters, isa: Isa) -> ConvolutionValues:
        return self.values(filters.product_arguments(isa))

    def _call(self, arguments: ProductArguments, filters: Filters, isa: Isa) -> KernelCall:
        suffix, microkernel = packing.gemm(filters, isa, self.wide)
        wide = "_w16" if packing.is_wide(isa, self.wide) else ""
        clamped = filters.clamp_suffix(isa)
        name = arguments.c_name.removeprefix("cm_")
        return KernelCall(
            name + (suffix if arguments.has_roundings else wide + clamped),
            arguments.words(),
            (0, self.output_shape[1]),
            microkernel,
            type(arguments),
            arguments.family + packing.width_suffix(filters, isa, self.wide),
        )

    @property
    def _shares_columns(self) -> bool:
        """Whether neighbouring windows do, and those of a row are multiplied without a rest."""
        is_plain = self.groups == 1 and self.window.dilation == (1, 1)
        overlaps = self.window.kernel[1] > self.window.stride[1]
        return (
            is_plain
            and overlaps
            and self.output_shape[2] % packing.gemm_rows(self.depth, Isa.MVE) == 0
        )

    @property
    def _filters(self) -> Filters:
        return self._read_as(self.weights)

    def _read_as(self, weights: Int8Array) -> Filters:
        """Filters of weights in another order of depths."""
        filters = self.filters(weights.reshape(len(weights), -1))
        return filters if self.wide else filters.narrowed

    def _is_implicit(self, isa: Isa) -> bool:
        """Whether windows are packed without patches: in fours, as words."""
        return (
            self.output_shape[0] == self.groups == 1
            and self.window.area > 1
            and self.window.dilation == (1, 1)
            and self.weights.shape[3] % 4 == 0
            and self.output_shape[2] % packing.PACKED_ROWS == 0
            and packing.packs_rows(self._filters, isa)
            # Such windows are packed for weights of eight bits.
            and not self._filters.is_narrow
        )

    def _is_unpacked(self, isa: Isa) -> bool:
        """Whether each product unpacks its weights, which is worth it for many windows."""
        return packing.unpacks_for_rows(self._filters, isa)

    def _packed(self, filters: Filters, isa: Isa) -> list[bytes]:
        """The weights of each group."""
        size = len(self.weights) // self.groups
        parts = [filters.select(slice(g * size, (g + 1) * size)) for g in range(self.groups)]
        return [packing.gemm_weights(part, isa, self.wide) for part in parts]

    def _inside(self, images: Tensor) -> range:
        """The output columns whose windows cross no side of the image."""
        _, taps = self.window.inside(1, images.shape[2], self.output_shape[2])
        columns = np.flatnonzero(taps == self.window.kernel[1])
        return range(int(columns[0]), int(columns[-1]) + 1) if columns.size else range(0)

    def _reads_pixels(self, images: Tensor) -> bool:
        """Whether each patch is one pixel inside of the input."""
        covered = (
            (count - 1) * stride + 1
            for count, stride in zip(self.output_shape[1:3], self.window.stride, strict=True)
        )
        fits = all(c <= size for c, size in zip(covered, images.shape[1:3], strict=True))
        return self.window.area == 1 and self.window.padding == (0, 0) and fits

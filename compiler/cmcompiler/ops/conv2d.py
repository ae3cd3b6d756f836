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
from cmcompiler.ops.support import cut_windows, odd_rows, packing
from cmcompiler.ops.support.arguments import ConvolutionValues, ImageRows, WindowFields
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.packing16 import PACKED_SHORT_ROWS, Filters16
from cmcompiler.ops.support.product_arguments import (
    CutArguments,
    CutArguments16,
    ImplicitArguments,
    ImplicitArguments16,
    ImplicitFields,
    OddArguments,
    PatchArguments,
    PatchArguments16,
    PixelArguments,
    PixelArguments16,
    ProductArguments,
    StripArguments,
    StripArguments16,
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


class _Strip(TypedDict):
    """Fields of StripArguments."""

    strip: GrowableScratch
    window: WindowFields
    chunk: ScratchCount


_NO_VALUES = ConvolutionValues(0, 0, 0, 0, 0)
"""The values of int16 layers, whose weights hold what makes outputs of sums."""


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
        if self.is_int16 or self._is_implicit(isa) or self._filters.holds_nibbles:
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
            joined=self._is_joined(images),
        )
        return self._call(arguments, filters, isa)

    def _implicit_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """A call that packs windows from where they lie in the images."""
        is_odd = odd_rows.are_odd(self.weights)
        filters = self._read_as(odd_rows.ordered(self.weights)) if is_odd else self._filters
        fields = self._implicit(
            images, packing.packed_workspace(filters, isa), packing.PACKED_ROWS, is_odd
        )
        arguments = (OddArguments if is_odd else ImplicitArguments)(
            *self._operands(images, output, packing.gemm_weights(filters, isa, self.wide)),
            **fields,
            values=self._values(filters, isa),
        )
        return self._call(arguments, filters, isa)

    def _implicit(
        self, images: Tensor, workspace: int, windows: int, is_odd: bool = False
    ) -> ImplicitFields:
        """The fields about windows, so many of which are packed at once."""
        window, pixel = self.window, images.shape[3] * images.dtype.itemsize
        row, step = window.kernel[1] * pixel, window.stride[1] * pixel
        strip = (windows - 1) * step + row
        strips = -(-window.kernel[0] * strip // 4) * 4 if is_odd else strip
        return ImplicitFields(
            scratch=Scratch(strips + workspace),
            depth=window.kernel[0] * row,
            row_depth=row,
            strip=strip,
            step=step,
            left=window.padding[1] * pixel,
            stride_height=window.stride[0],
            pad_top=window.padding[0],
        )

    def _strip_call(self, images: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """A call that keeps in memory once what neighbouring windows of a row share."""
        filters = self._read_as(self.weights.swapaxes(1, 2))
        are_cut = cut_windows.are_cut(self.window, images, self.output_shape, output)
        has_loop = not filters.is_general(Isa.MVE)
        arguments = (CutArguments if are_cut and has_loop else StripArguments)(
            *self._operands(images, output, packing.gemm_weights(filters, isa)),
            workspace=self._workspace(filters, isa),
            **self._strip(images),
            values=self._values(filters, isa),
        )
        return self._call(arguments, filters, isa)

    def _strip(self, images: Tensor) -> _Strip:
        """The fields about the strip."""
        width, window = self.output_shape[2], self.window
        chunk = min(width, 4 * -(-width // (4 * -(-width // STRIP_PIXELS))))
        columns = (chunk - 1) * window.stride[1] + window.kernel[1]
        strip = columns * window.kernel[0] * images.shape[3] * images.dtype.itemsize
        return _Strip(
            strip=GrowableScratch(-(-strip // ALIGN) * ALIGN, -(-width // chunk)),
            window=WindowFields.of(window),
            chunk=ScratchCount(chunk),
        )

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
        filters = self._filters16(self.weights)
        arguments: ProductArguments
        if self._reads_pixels(images):
            weights = self._packed16(filters, isa)
            arguments = PixelArguments16(
                *self._short_operands(images, output, weights),
                workspace=Scratch(filters.workspace(isa)),
                depth=images.dtype.itemsize * self.depth,
                stride_height=self.window.stride[0],
                stride_width=self.window.stride[1],
                groups=self.groups,
                group_weights=len(weights[0]),
                values=_NO_VALUES,
                joined=self._is_joined(images),
            )
        elif self._is_implicit16(filters, isa):
            fields = self._implicit(images, filters.workspace(isa), PACKED_SHORT_ROWS)
            operands = self._short_operands(images, output, [filters.packed(isa)])
            arguments = ImplicitArguments16(*operands, **fields, values=_NO_VALUES)
        elif self._is_strip16(filters, isa):
            filters = self._filters16(self.weights.swapaxes(1, 2))
            are_cut = cut_windows.are_cut(self.window, images, self.output_shape, output)
            arguments = (CutArguments16 if are_cut else StripArguments16)(
                *self._short_operands(images, output, [filters.packed(isa)]),
                workspace=Scratch(filters.workspace(isa)),
                **self._strip(images),
                values=_NO_VALUES,
            )
        else:
            weights = self._packed16(filters, isa)
            arguments = PatchArguments16(
                *self._short_operands(images, output, weights),
                workspace=Scratch(filters.workspace(isa)),
                window=WindowFields.of(self.window),
                groups=self.groups,
                group_weights=len(weights[0]),
                values=_NO_VALUES,
                **self._patches(images, images.dtype.itemsize * self.depth, isa),
            )
        rows = (0, self.output_shape[1])
        return KernelCall.of(
            arguments.kernel + filters.suffix,
            arguments,
            rows,
            microkernel=filters.microkernel,
            family=arguments.family + filters.family,
        )

    def _filters16(self, weights: Int8Array) -> Filters16:
        """Filters of weights in some order of depths."""
        return self.filters16(weights.reshape(len(weights), -1)).narrowed

    def _packed16(self, filters: Filters16, isa: Isa) -> list[bytes]:
        """The weights of each group."""
        size = len(self.weights) // self.groups
        parts = [filters.part(slice(g * size, (g + 1) * size)) for g in range(self.groups)]
        return [part.packed(isa) for part in parts]

    def _short_operands(
        self, images: Tensor, output: Tensor, weights: Sequence[bytes]
    ) -> tuple[ImageRows, ImageRows, int, Packed]:
        """The fields that all kernels begin with, in bytes."""
        pixel = images.dtype.itemsize * self.output_shape[3]
        return ImageRows.of(images), ImageRows.of(output), pixel, Packed(b"".join(weights))

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
        suffix, microkernel = packing.gemm(filters, isa, self.wide, arguments.stride_of_products)
        plain = packing.gemm_suffix(filters, isa, self.wide) + filters.clamp_suffix(isa)
        return KernelCall(
            arguments.kernel + (suffix if arguments.has_roundings else plain),
            arguments.words(),
            (0, self.output_shape[1]),
            microkernel,
            type(arguments),
            arguments.family + packing.family_suffix(filters, isa, self.wide),
        )

    def _is_joined(self, images: Tensor) -> bool:
        """Whether rows of pixels that follow each other make such rows of outputs."""
        return self.window.stride == (1, 1) and images.shape[2] == self.output_shape[2]

    @property
    def _shares_columns(self) -> bool:
        """Whether neighbouring windows do, and those of a row are multiplied, little in vain."""
        return self._has_strips(packing.gemm_rows(self.depth, Isa.MVE))

    @property
    def _shares_columns16(self) -> bool:
        """Whether windows of int16 do, of which two are multiplied at once."""
        return self._has_strips(2)

    def _has_strips(self, rows: int) -> bool:
        """Whether a row's windows share columns, and are multiplied in so many, little in vain."""
        is_plain = self.groups == 1 and self.window.dilation == (1, 1)
        overlaps = self.window.kernel[1] > self.window.stride[1]
        return is_plain and overlaps and packing.wastes_little(self.output_shape[2], rows)

    @property
    def _filters(self) -> Filters:
        return self.known_filters(lambda: self._read_as(self.weights), self.wide)

    def _read_as(self, weights: Int8Array) -> Filters:
        """Filters of weights in another order of depths."""
        filters = self.filters(weights.reshape(len(weights), -1))
        return filters if self.wide else filters.narrowed

    def _is_implicit(self, isa: Isa) -> bool:
        """Whether windows are packed without patches: in fours, as words."""
        # Such windows are packed for weights of eight bits.
        filters = self._filters
        fits = packing.packs_rows(filters, isa) and not filters.holds_nibbles
        channels = 1 if odd_rows.are_odd(self.weights) else 4
        return fits and self._has_windows(packing.PACKED_ROWS, channels)

    def _is_implicit16(self, filters: Filters16, isa: Isa) -> bool:
        """Whether windows of int16 are packed without patches: in twos."""
        return filters.packs_rows(isa) and self._has_windows(PACKED_SHORT_ROWS, 2)

    def _is_strip16(self, filters: Filters16, isa: Isa) -> bool:
        """Whether memory holds once what neighbouring windows of int16 share."""
        is_product = filters.is_short and not filters.is_narrow
        return isa is Isa.MVE and is_product and self._shares_columns16

    def _has_windows(self, rows: int, channels: int) -> bool:
        """Whether there are windows without gaps, so many in a row, of so many channels."""
        return (
            self.output_shape[0] == self.groups == 1
            and self.window.area > 1
            and self.window.dilation == (1, 1)
            and self.weights.shape[3] % channels == 0
            and self.output_shape[2] % rows == 0
        )

    def _is_unpacked(self, isa: Isa) -> bool:
        """Whether each product unpacks its weights, which is worth it for many windows."""
        filters = self._filters
        return filters.groups is not None or packing.unpacks_for_rows(filters, isa)

    def _packed(self, filters: Filters, isa: Isa) -> list[bytes]:
        """The weights of each group."""
        if self.groups == 1:
            return [packing.gemm_weights(filters, isa, self.wide)]
        size = len(self.weights) // self.groups
        parts = [filters.select(slice(g * size, (g + 1) * size)) for g in range(self.groups)]
        return [packing.gemm_weights(part, isa, self.wide, filters) for part in parts]

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

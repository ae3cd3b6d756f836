"""Arguments of the kernels that compute convolutions as matrix products, and their work.

The kernels: conv2d.c, pixel_conv2d.c, strip_conv2d.c and implicit_conv2d.c of runtime/kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, TypedDict

from cmcompiler.ir.layout import INLINE, Int16, Int32, Place, Settled
from cmcompiler.ir.words import ALIGN
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.ops.support.arguments import ConvolutionValues, ImageRows, WindowFields, items
from cmcompiler.ops.support.packing import PACKED_ROWS
from cmcompiler.ops.support.packing16 import PACKED_SHORT_ROWS

VECTOR = 16
"""Bytes of a strip's pixel that are copied at once."""

_FEW_PIXELS = 8
"""Pixels of a row below which its product takes much longer than as a part of a larger one."""

_ROWS = 4
"""ROWS of kernels/conv2d.c."""

_WINDOW_ROWS = 3
"""CM_WINDOW_ROWS of cmrt/isa.h."""


@dataclass(frozen=True)
class ProductArguments(Arguments):
    """The fields that all of these kernels begin with."""

    family: ClassVar[str] = "conv2d"
    """The name of the kernels whose work costs the same."""

    has_roundings: ClassVar[bool] = True
    """There is a kernel for each rounding of outputs."""

    kernel_suffix: ClassVar[str] = ""
    """What the names of kernels have before that of their product."""

    channel_bytes: ClassVar[int] = 1
    """Bytes of a channel's element, of images and of outputs."""

    input: ImageRows
    output: ImageRows
    output_pixel: Annotated[Int32, "bytes from one output pixel to the next"]
    weights: Place

    @property
    def kernel(self) -> str:
        """The kernel's name without what depends on weights and outputs."""
        return self.c_name.removeprefix("cm_") + self.kernel_suffix

    @property
    def stride_of_products(self) -> int:
        """Bytes from one row of a product to the next, where rows may lie side by side; else 0."""
        return 0

    @property
    def is_dense(self) -> bool:
        """Rows of outputs follow each other in memory."""
        return self.output.row_stride == self.output.width * self.output_pixel

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        channels, depth = self._columns_of_portion, filled(macs // outputs, lanes)
        return Work(
            macs=macs,
            filled=outputs * depth,
            outputs=outputs,
            calls=calls,
            columns=calls * channels,
            operands=outputs // channels * self._products_of_pixel * depth,
        )

    def _parts(self, count: int) -> Work:
        """So many portions of all channels."""
        return Work(portions=count, columns=count * self._columns_of_portion)

    @property
    def _products_of_pixel(self) -> int:
        """Products that an output pixel is a row of: one for each group."""
        return 1

    @property
    def _columns_of_portion(self) -> int:
        return self.output.channels // self.channel_bytes


@dataclass(frozen=True)
class PatchArguments(ProductArguments):
    """A patch is the input of one window: kernel rows, kernel columns, channels of a group."""

    c_name = "cm_conv2d"
    joins_rows = True

    workspace: Place
    patches: Place
    window: Annotated[WindowFields, INLINE]
    inside: Annotated[Int32, "the first output column whose window crosses no side of the image"]
    inside_end: Annotated[Int32, "the column after the last such one"]
    groups: Int32
    group_weights: Annotated[Int32, "bytes of packed weights per group"]
    patch_count: Annotated[Settled, "patches in the buffer"]
    patch_stride: Annotated[Int32, "bytes from one patch to the next"]
    values: Annotated[ConvolutionValues, INLINE]

    @property
    def _products_of_pixel(self) -> int:
        return self.groups

    @property
    def depth_of_products(self) -> int:
        return self.patch_stride

    def division(self, rows: int, units: int = 1) -> Work:
        images, width = self.output.batch, self.output.width
        count = images * (
            self._batches(rows * width, units)
            if self.is_dense
            else rows * self._batches(width, units)
        )
        return Work(
            portions=count * self.groups,
            batches=count * self.groups,
            splits=max(0, count - images * rows) * self.groups,
            columns=count * self._columns_of_portion,
        )

    def _batches(self, pixels: int, units: int) -> int:
        """Batches of patches for pixels that follow each other: convolve_patches."""
        pixel = self.output_pixel if self.output_pixel == self.output.channels else 0
        return _batches(pixels, items(self.patch_count, units), self.patch_stride, pixel)

    def gathering(self) -> Work:
        pixels = self.output.pixels * self.groups
        return Work(segments=pixels * self._runs, gathered=pixels * self.patch_stride)

    @property
    def _runs(self) -> int:
        """Pieces in which a window of a group is gathered, at most: start_windows.

        What lies outside of the image is not gathered, and a column of pixels in one piece.
        """
        return self.window.kernel_height * self._runs_of_row

    @property
    def _runs_of_row(self) -> int:
        """Pieces of a row of a window of a group."""
        is_row = self.groups == 1 and self.window.dilation_width == 1
        return 1 if is_row else self.window.kernel_width

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        work = super().whole(macs, outputs, calls, lanes)
        pixels = outputs // self._columns_of_portion
        phases = pixels / self.output.pixels
        portions = max(calls * self.groups, self.division(self.output.height).portions * phases)
        return work._replace(
            pixels=pixels,
            segments=pixels * self.groups * self._runs,
            clipped=self.window.clipped(self.output) * self.groups * self._runs_of_row,
            portions=portions,
            columns=portions / self.groups * self._columns_of_portion,
        )


@dataclass(frozen=True)
class PatchArguments16(PatchArguments):
    """Patches of int16; all sizes are bytes."""

    family = "conv2d_s16"
    channel_bytes = 2


@lru_cache(maxsize=1 << 16)
def _batches(pixels: int, patches: int, stride: int, pixel: int) -> int:
    """
    Args:
        patches: that the buffer holds.
        pixel: bytes of an output in whose place patches may lie; 0 if they may not.
    """
    count = 0
    while pixels > 0:
        spare = (pixels * pixel - (ALIGN - 1)) // (stride + pixel) if pixel else 0
        pixels -= max(patches, spare - spare % _ROWS)
        count += 1
    return count


@dataclass(frozen=True)
class PixelArguments(ProductArguments):
    """Windows of one pixel: the image is the matrix."""

    c_name = "cm_pixel_conv2d"
    joins_rows = True

    workspace: Place
    depth: Annotated[Int32, "of the product: input channels of a group"]
    stride_height: Int16
    stride_width: Int16
    groups: Int32
    group_weights: Annotated[Int32, "bytes of packed weights per group"]
    values: Annotated[ConvolutionValues, INLINE]
    joined: Annotated[Int32, "rows of pixels that follow each other make such rows of outputs"]

    @property
    def _products_of_pixel(self) -> int:
        return self.groups

    @property
    def depth_of_products(self) -> int:
        return self.depth

    @property
    def stride_of_products(self) -> int:
        return self.stride_width * self.input.channels

    @property
    def suits_more(self) -> bool:
        return self.output.width < _FEW_PIXELS

    def division(self, rows: int, units: int = 1) -> Work:
        count = self.output.batch * (1 if self.joined and self.is_dense else rows)
        return self._parts(count)._replace(portions=count * self.groups)


@dataclass(frozen=True)
class PixelArguments16(PixelArguments):
    """Pixels of int16; all sizes are bytes."""

    family = "pixel_conv2d_s16"
    channel_bytes = 2


@dataclass(frozen=True)
class StripArguments(ProductArguments):
    """Neighbouring windows share columns; depths are kernel columns, kernel rows, channels."""

    c_name = "cm_strip_conv2d"
    family = "strip_conv2d"

    workspace: Place
    strip: Place
    window: Annotated[WindowFields, INLINE]
    chunk: Annotated[Settled, "output pixels whose columns the strip holds at once"]
    values: Annotated[ConvolutionValues, INLINE]

    @property
    def depth_of_products(self) -> int:
        return self.window.area * self.input.channels

    @property
    def _columns(self) -> int:
        """Columns of the input that a row of windows sees."""
        return (self.output.width - 1) * self.window.stride_width + self.window.kernel_width

    def division(self, rows: int, units: int = 1) -> Work:
        """Whole rows have their strips where outputs are yet to be computed: find_room."""
        width, chunk, near = self.output.width, items(self.chunk, units), rows
        if self.output.row_stride == width * self.output.channels:
            room = self._columns * self.window.kernel_height * self.input.channels + ALIGN - 1
            near = min(rows, -(-room // self.output.row_stride))
        parts = rows - near + near * -(-width // chunk)
        return self._strips(self.output.batch * parts)

    def gathering(self) -> Work:
        """A strip for each row of windows."""
        rows, height = self.output.batch * self.output.height, self.window.kernel_height
        vectors = self._columns * height * -(-self.input.channels // VECTOR)
        return self._strips(rows)._replace(copied=rows * vectors)

    def _strips(self, count: int) -> Work:
        return self._parts(count)._replace(lines=count * self.window.kernel_height)

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        work = super().whole(macs, outputs, calls, lanes)
        pixels = outputs // self._columns_of_portion
        division, phases = self.division(self.output.height), pixels / self.output.pixels
        return work._replace(
            pixels=pixels,
            segments=pixels * self.window.kernel_height,
            clipped=self.window.clipped(self.output),
            portions=division.portions * phases,
            columns=division.columns * phases,
            copied=self.gathering().copied * phases,
        )


@dataclass(frozen=True)
class CutArguments(StripArguments):
    """Windows that cross the top or the bottom of the image are multiplied without the padding."""

    kernel_suffix = "_cut"


@dataclass(frozen=True)
class StripArguments16(StripArguments):
    """Strips of int16; all sizes are bytes."""

    family = "strip_conv2d_s16"
    channel_bytes = 2


@dataclass(frozen=True)
class CutArguments16(StripArguments16):
    """Windows of int16 that are multiplied without the padding."""

    kernel_suffix = CutArguments.kernel_suffix


@dataclass(frozen=True)
class ImplicitArguments(ProductArguments):
    """One image in one group. Rows of outputs are a multiple of the windows packed at once: four,
    or two of int16. Pixels of the input are one of four bytes.
    """

    c_name = "cm_implicit_conv2d"
    has_roundings = False

    windows: ClassVar[int] = PACKED_ROWS
    """Windows that are packed at once."""

    scratch: Annotated[Place, "a strip, or three, then the workspace of the product"]
    depth: Annotated[Int32, "bytes of a window"]
    row_depth: Annotated[Int32, "bytes of a row of a window"]
    strip: Annotated[Int32, "bytes that windows packed at once see of a row"]
    step: Annotated[Int32, "bytes from one window to the next"]
    left: Annotated[Int32, "bytes of padding at the left"]
    stride_height: Int16
    pad_top: Int16
    values: Annotated[ConvolutionValues, INLINE]

    @property
    def depth_of_products(self) -> int:
        return self.depth

    def division(self, rows: int, units: int = 1) -> Work:
        return self._parts(rows * (self.output.width // self.windows))


class ImplicitFields(TypedDict):
    """Fields of ImplicitArguments about windows."""

    scratch: Place
    depth: int
    row_depth: int
    strip: int
    step: int
    left: int
    stride_height: int
    pad_top: int


@dataclass(frozen=True)
class OddArguments(ImplicitArguments):
    """Windows of three rows, each of one byte more than whole words."""

    kernel_suffix = "_odd"

    def gathering(self) -> Work:
        """Words of three rows take as long to pack as a patch to gather, less its segments."""
        return Work(gathered=self.output.pixels * -(-self.depth // 4) * 4)

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        pixels = outputs // self._columns_of_portion
        work = super().whole(macs, outputs, calls, lanes)
        return work._replace(pixels=pixels, segments=pixels * _WINDOW_ROWS)


@dataclass(frozen=True)
class ImplicitArguments16(ImplicitArguments):
    """Windows of int16; all sizes are bytes."""

    family = "implicit_conv2d_s16"
    channel_bytes = 2
    windows = PACKED_SHORT_ROWS

"""Structs that are part of the arguments of several kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cmcompiler.ir.layout import Int8, Int16, Int32, Place, Settled, Struct
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.words import Address, RingRows, ScratchCount, Word
from cmcompiler.ops.support.window import Window


@dataclass(frozen=True)
class ImageRows(Struct):
    """Rows of an NHWC tensor. Row y of batch n lies at data + n * batch_stride + (y mod ring) *
    row_stride. Rows outside [0, height) do not exist; kernels substitute the zero point. Whole
    tensors have ring == height. Channels are bytes, as are strides.
    """

    c_name = "cm_rows"

    data: Place
    batch: Int32
    height: Int32
    width: Int32
    channels: Int32
    batch_stride: Int32
    row_stride: Int32
    ring: Settled

    @classmethod
    def of(cls, tensor: Tensor) -> ImageRows:
        batch, height, width, elements = tensor.shape
        channels = elements * tensor.dtype.itemsize
        row = width * channels
        return cls(
            data=Address(tensor),
            batch=batch,
            height=height,
            width=width,
            channels=channels,
            batch_stride=height * row,
            row_stride=row,
            ring=RingRows(tensor),
        )

    @property
    def pixels(self) -> int:
        return self.batch * self.height * self.width

    @property
    def joined(self) -> ImageRows:
        """The same rows as one pixel each."""
        return replace(self, width=1, channels=self.row_stride)


@dataclass(frozen=True)
class WindowFields(Struct):
    """A window that slides over rows and columns."""

    kernel_height: Int16
    kernel_width: Int16
    stride_height: Int16
    stride_width: Int16
    pad_top: Int16
    pad_left: Int16
    dilation_height: Int16
    dilation_width: Int16

    @classmethod
    def of(cls, window: Window) -> WindowFields:
        return cls(*window.kernel, *window.stride, *window.padding, *window.dilation)

    @property
    def area(self) -> int:
        return self.kernel_height * self.kernel_width

    def clipped(self, output: ImageRows) -> int:
        """Rows of windows that may cross a side of the image."""
        columns = min(self.kernel_width - 1, output.width) if self.pad_left else 0
        return output.batch * output.height * columns * self.kernel_height


@dataclass(frozen=True)
class ConvolutionValues(Struct):
    """Names of the numbers of a convolution."""

    zero_point: Int16
    minimum: Int8
    maximum: Int8
    input_zero_point: Int16
    rounding: Int16

    @classmethod
    def of(cls, output: Mapping[str, int], input_zero_point: int) -> ConvolutionValues:
        """
        Args:
            output: the fields of a `struct cm_output`.
        """
        limits = output["minimum"], output["maximum"]
        return cls(output["zero_point"], *limits, input_zero_point, output["rounding"])


@dataclass(frozen=True)
class OutputValues(Struct):
    """From sums of 32 bits to int8."""

    zero_point: Int32
    minimum: Int32
    maximum: Int32
    rounding: Int32


def rectified(arguments: Struct, outputs: int) -> float:
    """How many of a call's outputs a ReLU is taken to make zero: half, as in trained networks.

    Values of calls for int16 are all 0, as these have their limits beside the weights.
    """
    values = getattr(arguments, "values", None)
    if not isinstance(values, ConvolutionValues | OutputValues):
        return 0.0
    return outputs / 2 if values.zero_point <= values.minimum < values.maximum else 0.0


def items(count: Word, units: int) -> int:
    """How many items scratch of so many units holds; a settled number is what it is."""
    if isinstance(count, ScratchCount):
        return count.each * units
    assert isinstance(count, int)
    return count

"""The base of the pools: windows that may hang over an image's edge, and kernel arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.channels import ChannelRule, Numbers
from cmcompiler.ir.layout import INLINE, Place, Struct
from cmcompiler.ir.op import KernelCall, Op, RowCall, Scratch, Tensors
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.arguments import ImageRows, WindowFields
from cmcompiler.ops.support.element_channels import MonotoneRule
from cmcompiler.ops.support.window import Pair, Window

LARGEST = (1 << 15) - 1
"""Limit of a kernel's side, a stride, a padding or a dilation."""


@dataclass(frozen=True)
class PoolFields(Struct):
    """Images, the windows over them, and a table of the rows of a window."""

    c_name = "cm_pool"

    input: ImageRows
    output: ImageRows
    row_table: Annotated[Place, "of kernel_height"]
    window: Annotated[WindowFields, INLINE]


@dataclass(frozen=True)
class PoolArguments(Arguments):
    """The fields that the kernels of all pools begin with."""

    pool: PoolFields

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        """Vectors lie along the channels."""
        output, window = self.pool.output, self.pool.window
        pixels, channels = output.pixels, filled(output.channels, lanes)
        return Work(
            filled=pixels * channels * window.area,
            outputs=outputs,
            calls=calls,
            pixels=pixels,
            clipped=window.clipped(output),
        )


@dataclass(frozen=True)
class Pool2d(Op):
    """A reduction of each window of NHWC images; what lies outside does not take part.

    Attributes:
        output_shape: [N, H, W, C].
    """

    kernel: ClassVar[str]
    """The kernel's name in the runtime, without the prefix cm_, for int8 images."""

    short_kernel: ClassVar[str]
    """The kernel's name for int16 images."""

    microkernel: ClassVar[Microkernel]

    form: ClassVar[type[PoolArguments]]
    """Its kernel's arguments."""

    short_form: ClassVar[type[PoolArguments]]

    window: Window
    output_shape: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.label} {self.window.kernel[0]}×{self.window.kernel[1]}"

    @property
    def turned(self) -> Pool2d:
        return replace(
            self, window=self.window.turned, output_shape=turned_shape(self.output_shape)
        )

    combine: ClassVar[np.ufunc]
    """The function that makes one number of two taps."""

    start: ClassVar[int]
    """The number that leaves the other tap as it is."""

    @abstractmethod
    def finish(
        self, results: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """[N, H, W, C] of combined taps, and how many of them are of the image, [H, W, 1]."""

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        def of_pixels(numbers: Numbers) -> npt.NDArray[Any]:
            return self.finish(numbers.astype(np.int32), np.array(1))

        def of_channels(count: int) -> Op:
            return replace(self, output_shape=(*self.output_shape[:3], count))

        return MonotoneRule(self.output_shape[3], of_pixels, of_channels)

    @property
    def is_int16(self) -> bool:
        """Images and outputs are int16."""
        return self.element == np.int16

    @property
    def parameters(self) -> tuple[int, ...]:
        """Arguments of the kernel that other pools do not have, after the others."""
        return ()

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        rows, row_counts = self._along(0, inputs[0].astype(np.int32))
        results, column_counts = self._along(1, rows.swapaxes(1, 2))
        counts = row_counts[:, None, None] * column_counts[:, None]
        return (self.finish(results.swapaxes(1, 2), counts),)

    def _along(
        self, axis: int, images: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The taps of each window along dimension 1 combined, and their numbers."""
        length, count = images.shape[1], self.output_shape[axis + 1]
        first, counts = self.window.inside(axis, length, count)
        places = np.arange(count) * self.window.stride[axis] - self.window.padding[axis]
        places += first * self.window.dilation[axis]
        results = np.full((len(images), count, *images.shape[2:]), self.start, np.int32)
        for tap in range(int(counts.max())):
            (more,) = np.nonzero(counts > tap)
            seen = images[:, places[more] + tap * self.window.dilation[axis]]
            results[:, more] = self.combine(results[:, more], seen)
        return results, counts

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        form = self.short_form if self.is_int16 else self.form
        image, output = ImageRows.of(inputs[0]), ImageRows.of(outputs[0])
        if self.window.keeps_columns:
            image, output = image.joined, output.joined
        pool = PoolFields(
            image,
            output,
            Scratch(4 * self.window.kernel[0]),
            WindowFields.of(self.window),
        )
        arguments = form(pool, *self.parameters)
        rows = (0, self.output_shape[1])
        if self.is_int16:
            return [KernelCall.of(self.short_kernel, arguments, rows)]
        return [KernelCall(self.kernel, arguments.words(), rows, self.microkernel, self.form)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: self.window.rows})]

    @property
    def is_single(self) -> bool:
        """Whether it is one window, in one piece."""
        return self.output_shape[1:3] == (1, 1) and self.window.dilation == (1, 1)

    def covered(self, image: Tensor) -> tuple[range, range]:
        """Rows and columns of an image that the first window covers."""
        sizes = zip(self.window.kernel, self.window.padding, image.shape[1:3], strict=True)
        rows, columns = (range(min(length, kernel - padding)) for kernel, padding, length in sizes)
        return rows, columns


def read_window(call: Call, images: Tensor, output: Tensor, dilation: Pair = (1, 1)) -> Window:
    """The window of a pool that gives `output`, whose every window covers some of the image."""
    if images.dtype != np.int8 or output.dtype != np.int8:
        call.unsupported(f"{images.dtype.name} to {output.dtype.name}")
    return fit_window(call, images.shape, output.shape, dilation)


def fit_window(
    call: Call, images: Sequence[int], output: Sequence[int], dilation: Pair = (1, 1)
) -> Window:
    """As read_window, for shapes [N, H, W, C] of any tensors."""
    kernel = read_pair(call, "kernel_size", at_least=1)
    stride = read_pair(call, "stride", at_least=1) if call.integers("stride") else kernel
    window = Window(kernel, stride, read_pair(call, "padding", at_least=0), dilation)
    size = window.output_size(images[1:3], call.boolean("ceil_mode"))
    if tuple(output) != (images[0], *size, images[3]):
        call.invalid(f"output is {list(output)} for {list(images)}")
    if 0 not in output:
        for axis in (0, 1):
            if not window.inside(axis, images[axis + 1], size[axis])[1].all():
                call.unsupported("a window lies outside the image")
    return window


def read_pair(call: Call, name: str, at_least: int) -> Pair:
    """One number for rows and columns, or one for each."""
    values = call.integers(name, None, at_least, LARGEST)
    if len(values) not in (1, 2):
        call.invalid(f"{name} has {len(values)} items")
    return values[0], values[-1]

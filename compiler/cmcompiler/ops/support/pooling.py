"""What the pools share: windows that may hang over an image's edge, and the kernel's arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import KernelCall, Op, Scratch, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import Pair, Window, rows_arguments

LARGEST = (1 << 15) - 1
"""Of a kernel's side, a stride, a padding or a dilation."""


@dataclass(frozen=True)
class Pool2d(Op):
    """A reduction of each window of int8 NHWC images; what lies outside does not take part.

    Attributes:
        output_shape: [N, H, W, C].
    """

    element = np.dtype(np.int8)

    kernel: ClassVar[str]
    """Of the runtime, without the prefix cm_."""

    microkernel: ClassVar[Microkernel]

    window: Window
    output_shape: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.label} {self.window.kernel[0]}×{self.window.kernel[1]}"

    @abstractmethod
    def reduce(self, taps: npt.NDArray[np.int32], inside: npt.NDArray[np.bool_]) -> Int8Array:
        """int8 [N, H, W, C] for taps [N, H, W, kernel height, kernel width, C].

        `inside` tells which taps are of the image; its N and C are 1.
        """

    def parameters(self) -> list[tuple[str, Word]]:
        """Arguments of the kernel that other pools do not have."""
        return []

    def reference(self, *inputs: npt.NDArray[np.int8]) -> tuple[npt.NDArray[np.int8], ...]:
        size = (self.output_shape[1], self.output_shape[2])
        taps = self.window.taps(inputs[0].astype(np.int32), size, 0)
        ones = np.ones((1, *inputs[0].shape[1:3], 1), np.bool_)
        return (self.reduce(taps, self.window.taps(ones, size, False)),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        if outputs[0].numel == 0:
            return ()
        arguments: list[tuple[str, Word]] = [
            *rows_arguments("input", inputs[0]),
            *rows_arguments("output", outputs[0]),
            ("row_table", Scratch(4 * self.window.kernel[0])),
            *self.window.arguments(),
            *self.parameters(),
        ]
        return [KernelCall(self.kernel, arguments, (0, self.output_shape[1]), self.microkernel)]


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
    size = output_size(window, images[1:3], call.boolean("ceil_mode"))
    if tuple(output) != (images[0], *size, images[3]):
        call.invalid(f"output is {list(output)} for {list(images)}")
    if 0 not in output:
        for axis in (0, 1):
            if not _all_covered(window, axis, images[axis + 1], size[axis]):
                call.unsupported("a window lies outside of the image")
    return window


def read_pair(call: Call, name: str, at_least: int) -> Pair:
    """One number for rows and columns, or one for each."""
    values = call.integers(name, None, at_least, LARGEST)
    if len(values) not in (1, 2):
        call.invalid(f"{name} has {len(values)} items")
    return values[0], values[-1]


def output_size(window: Window, size: Sequence[int], ceil_mode: bool) -> Pair:
    """torch's output size: in ceil mode windows may end, but not begin, past the right padding."""
    rows, columns = (_output_length(window, axis, size[axis], ceil_mode) for axis in (0, 1))
    return rows, columns


def _output_length(window: Window, axis: int, length: int, ceil_mode: bool) -> int:
    stride, padding = window.stride[axis], window.padding[axis]
    room = length + 2 * padding - window.reach[axis]
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1
    return count


def _all_covered(window: Window, axis: int, length: int, count: int) -> bool:
    starts = np.arange(count)[:, None] * window.stride[axis] - window.padding[axis]
    taps = starts + np.arange(window.kernel[axis]) * window.dilation[axis]
    return bool(((taps >= 0) & (taps < length)).any(axis=1).all())

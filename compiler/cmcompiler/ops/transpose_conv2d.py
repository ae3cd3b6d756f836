"""Quantised transposed convolution: cortex_m::quantized_transpose_conv2d.

The outputs whose row and column have the same remainders by the strides see the same taps of the
kernel, at neighbouring pixels of the input: they are an ordinary convolution with stride 1. So a
transposed one is as many ordinary ones as there are remainders, each into its own grid of pixels
(Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import Address, KernelCall, Tensors, Word
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.convolution import Convolution, read_operands, read_pair
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import Pair, Window, image_op

MOST_PHASES = 4096
"""Kernel calls of one transposed convolution."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Along one axis, the outputs with the same remainder by the stride.

    Attributes:
        first: the first of them.
        count: how many there are.
        taps: of the kernel, in the order of the input pixels they meet.
        start: the input pixel that the first tap of the first output meets, maybe outside.
        dilation: input pixels from one tap to the next.
    """

    first: int
    count: int
    taps: range
    start: int
    dilation: int


def phases(kernel: int, stride: int, padding: int, dilation: int, size: int) -> Iterator[Phase]:
    """All that have outputs. Tap k of output y meets input (y + padding - k·dilation) / stride."""
    common = gcd(stride, dilation)
    step = stride // common
    for first in range(min(stride, size)):
        count = -(-(size - first) // stride)
        met = [k for k in range(kernel) if (first + padding - k * dilation) % stride == 0]
        taps = range(met[-1], -1, -step) if met else range(0)
        start = (first + padding - met[-1] * dilation) // stride if met else 0
        yield Phase(first, count, taps, start, dilation // common)


@dataclass(frozen=True, eq=False)
class TransposeConv2d(Convolution):
    """Transposed convolution of int8 NHWC images.

    Attributes:
        weights: int8 [C_out, kernel height, kernel width, C_in].
        input_shape: [N, H, W, C_in].
    """

    label = "transpose_conv2d"
    input_shape: tuple[int, ...]

    @property
    def macs(self) -> int:
        return prod(self.input_shape[:3]) * self.weights.size

    def accumulate(self, images: Int8Array) -> npt.NDArray[np.float64]:
        """Each input pixel adds its products where the kernel puts them; exact below 2^53."""
        sums = np.zeros(self.output_shape)
        centred = images.astype(np.float64) - self.input_zero_point
        for place in self.window.places:
            (rows, above), (columns, beside) = (
                self._outputs(axis, tap) for axis, tap in enumerate(place)
            )
            target = np.ix_(np.arange(len(sums)), rows[above], columns[beside])
            sums[target] += centred[:, above][:, :, beside] @ self._factors(place)
        return sums

    def _factors(self, place: Pair) -> npt.NDArray[np.float64]:
        return self.weights[:, place[0], place[1]].T.astype(np.float64)

    def _outputs(self, axis: int, tap: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Where the products of each input row or column with a tap belong, and whether there."""
        window = self.window
        places = np.arange(self.input_shape[axis + 1]) * window.stride[axis] + (
            tap * window.dilation[axis] - window.padding[axis]
        )
        return places, (places >= 0) & (places < self.output_shape[axis + 1])

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        window = self.window
        pairs = (window.kernel, window.stride, window.padding, window.dilation)
        axes = zip(*pairs, self.output_shape[1:3], strict=True)
        every = product(*(phases(*axis) for axis in axes))
        return [self._phase_call(y, x, inputs, outputs, isa) for y, x in every]

    def _phase_call(
        self, y: Phase, x: Phase, inputs: Tensors, outputs: Tensors, isa: Isa
    ) -> KernelCall:
        batch, _, width, channels = self.output_shape
        convolution = Conv2d(
            self._phase_weights(y, x),
            self.bias,
            Window(
                (max(len(y.taps), 1), max(len(x.taps), 1)),
                padding=(-y.start, -x.start),
                dilation=(y.dilation, x.dilation),
            ),
            self.input_zero_point,
            self.requantize,
            (batch, y.count, x.count, channels),
        )
        (call,) = convolution.kernel_calls(inputs, outputs, isa)
        changes: dict[str, Word] = {
            "output.data": Address(outputs[0], (y.first * width + x.first) * channels),
            "output.height": y.count,
            "output.width": x.count,
            "output.row_stride": self.window.stride[0] * width * channels,
            "output.ring": y.count,
            "output_pixel": self.window.stride[1] * channels,
        }
        return replace(
            call, arguments=[(name, changes.get(name, word)) for name, word in call.arguments]
        )

    def _phase_weights(self, y: Phase, x: Phase) -> Int8Array:
        """Of the taps that the phase sees; a tap of zeros if there is none."""
        if not y.taps or not x.taps:
            shape = (len(self.weights), max(len(y.taps), 1), max(len(x.taps), 1))
            return np.zeros((*shape, self.weights.shape[3]), np.int8)
        return self.weights[:, list(y.taps)][:, :, list(x.taps)]


@image_op(
    "quantized_transpose_conv2d",
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] output_padding, int[] dilation, int input_offset, int output_offset, "
    "Tensor requantize_multipliers, Tensor requantize_shifts, int activation_min, "
    "int activation_max, Tensor scratch, Tensor output_scratch, *, Tensor(a!) out) "
    "-> Tensor(a!)",
)
def read(call: Call) -> None:
    operands = read_operands(call)
    images, weights, window = operands.images, operands.weights, operands.window
    if weights.shape[3] != images.shape[3]:
        call.unsupported(f"weights of shape {list(weights.shape)} for {images.shape[3]} channels")
    if not -128 <= operands.input_zero_point <= 127:
        call.unsupported(
            f"no int8 value represents zero: input_offset = {-operands.input_zero_point}"
        )
    extra = read_pair(call, "output_padding", at_least=0)
    size = window.transposed_size(images.shape[1], images.shape[2], extra)
    operands.check(call, weights[0].size, size, len(weights))
    calls = prod(map(min, window.stride, size))
    if calls > MOST_PHASES:
        call.unsupported(f"strides {list(window.stride)} take {calls:,} kernel calls")
    weights, window = without_zeros(weights, window)
    replace(operands, window=window).emit(call, TransposeConv2d, weights, images.shape)


def without_zeros(weights: Int8Array, window: Window) -> tuple[Int8Array, Window]:
    """Without rows and columns of taps that are zero, where the others are equally spaced.

    Programs have them for what the operator lacks: output padding and dilation.
    """
    padding, dilation = list(window.padding), list(window.dilation)
    for axis in (0, 1):
        (used,) = np.nonzero(weights.any(axis=tuple({0, 1, 2, 3} - {axis + 1})))
        first = int(used[0]) if used.size else 0
        step = int(np.gcd.reduce(np.diff(used))) if used.size > 1 else 1
        last = int(used[-1]) if used.size else 0
        weights = weights.take(range(first, last + 1, step), axis + 1)
        padding[axis] -= first * dilation[axis]
        dilation[axis] *= step
    trimmed = Window(
        weights.shape[1:3],
        window.stride,
        (padding[0], padding[1]),
        (dilation[0], dilation[1]),
    )
    return weights, trimmed

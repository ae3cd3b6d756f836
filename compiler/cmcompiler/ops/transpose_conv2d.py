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
from cmcompiler.ir.op import Address, Array, KernelCall, Reach, RingRows, RowCall, Tensors, Word
from cmcompiler.ir.rows import turned_shape
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.convolution import Convolution, read_operands, read_pair
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import Pair, Window, image_op

ROW_PATCH_BYTES = 512
"""Bytes of the patch buffer, for a row of a phase."""

WIDEST = 16
"""Channels from which on taps of zero cost more than joining phases saves."""

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

    @property
    def length(self) -> int:
        """Taps that are computed: at least one, of zeros."""
        return max(len(self.taps), 1)

    @property
    def reach(self) -> Reach:
        """The input pixels that each of the outputs meets."""
        return Reach(1, self.start, self.start + (self.length - 1) * self.dilation)


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
    """Transposed convolution of NHWC images.

    Attributes:
        weights: int8 [C_out, kernel height, kernel width, C_in].
        input_shape: [N, H, W, C_in].
        wide: see Conv2d.
    """

    label = "transpose_conv2d"
    input_shape: tuple[int, ...]
    wide: bool = False

    @property
    def widened(self) -> TransposeConv2d:
        return replace(self, wide=True)

    @property
    def turned(self) -> TransposeConv2d:
        return replace(
            self,
            weights=self.weights.swapaxes(1, 2),
            window=self.window.turned,
            output_shape=turned_shape(self.output_shape),
            input_shape=turned_shape(self.input_shape),
        )

    @property
    def macs(self) -> int:
        return prod(self.input_shape[:3]) * self.weights.size

    def accumulate(self, images: Array) -> npt.NDArray[np.float64]:
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
        return [self._run_call(*run, inputs, outputs, isa) for run in self._runs]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """Each call makes the rows of one phase."""
        step = self.window.stride[0]
        calls = []
        for y, run in self._runs:
            call = self._run_call(y, run, inputs, outputs, isa)
            words = dict(call.arguments) | {"output.ring": RingRows(outputs[0], step)}
            call = replace(call, arguments=list(words.items()))
            calls.append(RowCall(call, {inputs[0]: y.reach}, first=y.first, step=step))
        return calls

    @property
    def _runs(self) -> Iterator[tuple[Phase, tuple[Phase, ...]]]:
        """Rows of a phase, and phases of columns that are computed at once."""
        window = self.window
        pairs = (window.kernel, window.stride, window.padding, window.dilation)
        rows, columns = (
            tuple(phases(*axis)) for axis in zip(*pairs, self.output_shape[1:3], strict=True)
        )
        return product(rows, [columns] if self._joins(columns) else [(each,) for each in columns])

    def _joins(self, columns: tuple[Phase, ...]) -> bool:
        """Whether all phases along a row are better computed at once.

        The pixels of one kernel of each phase lie side by side. Together they see more taps than
        each alone, of which some are zero, but gather inputs only once and fill blocks of channels.
        """
        is_even = len({(phase.count, phase.dilation) for phase in columns}) == 1
        if len(columns) == 1 or not is_even or columns[0].dilation != 1:
            return False
        met = sum(phase.length for phase in columns)
        seen = len(columns) * _span(columns)[1]
        return seen * min(len(self.weights), WIDEST) <= met * WIDEST

    def _run_call(
        self, y: Phase, run: tuple[Phase, ...], inputs: Tensors, outputs: Tensors, isa: Isa
    ) -> KernelCall:
        """Computes phases of neighbouring columns, in the rows of one phase."""
        batch, _, width, channels = self.output_shape
        start, span = _span(run)
        requantize = self.requantize
        convolution = Conv2d(
            self._run_weights(y, run, start, span),
            np.tile(self.bias, len(run)),
            Window(
                (y.length, span),
                padding=(-y.start, -start),
                dilation=(y.dilation, run[0].dilation),
            ),
            self.input_zero_point,
            replace(
                requantize,
                multipliers=requantize.multipliers * len(run),
                shifts=requantize.shifts * len(run),
            ),
            (batch, y.count, run[0].count, channels * len(run)),
            # Rows of a phase are apart, so patches cannot wait in the place of later outputs.
            patch_bytes=ROW_PATCH_BYTES,
            wide=self.wide,
        )
        (call,) = convolution.kernel_calls(inputs, outputs, isa)
        pixel = channels * self.element.itemsize
        changes: dict[str, Word] = {
            "output.data": Address(outputs[0], (y.first * width + run[0].first) * pixel),
            "output.height": y.count,
            "output.width": run[0].count,
            "output.channels": pixel * len(run),
            "output.row_stride": self.window.stride[0] * width * pixel,
            "output.ring": y.count,
            "output_pixel": self.window.stride[1] * pixel,
        }
        return replace(
            call, arguments=[(name, changes.get(name, word)) for name, word in call.arguments]
        )

    def _run_weights(self, y: Phase, run: tuple[Phase, ...], start: int, span: int) -> Int8Array:
        """Weights of the taps that the phases see, one phase after the other; else zeros."""
        outputs, _, _, inputs = self.weights.shape
        shape = (len(run), outputs, y.length, span, inputs)
        weights = np.zeros(shape, np.int8)
        for phase, part in zip(run, weights, strict=True):
            if y.taps and phase.taps:
                first = phase.start - start
                seen = self.weights[:, list(y.taps)][:, :, list(phase.taps)]
                part[:, :, first : first + len(phase.taps)] = seen
        return weights.reshape(-1, *shape[2:])


def _span(run: tuple[Phase, ...]) -> tuple[int, int]:
    """The first input pixel that the first outputs of phases meet, and taps from it to the last."""
    used = [phase for phase in run if phase.taps]
    if len(run) == 1 or not used:
        return run[0].start, run[0].length
    start = min(phase.start for phase in used)
    return start, max(phase.start + len(phase.taps) for phase in used) - start


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

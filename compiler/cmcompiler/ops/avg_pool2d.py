"""Mean over windows of quantised images: cortex_m::quantized_avg_pool2d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import ONE_ROUNDING, Address, KernelCall, RowCall, Tensors
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.parameters import INT8
from cmcompiler.ops.support.pooling import Pool2d, PoolArguments, read_window
from cmcompiler.ops.support.requantize import Range, RangedOp
from cmcompiler.ops.support.row_sums import RowSums, RowSumsArguments, accumulate
from cmcompiler.ops.support.window import Window, image_op

AVG_WINDOW = Microkernel("avg_window_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class AvgPoolArguments(PoolArguments):
    """Means over windows."""

    c_name = "cm_avg_pool2d_s8"


@dataclass(frozen=True)
class AvgPoolArguments16(AvgPoolArguments):
    """Means over windows of int16, clamped; channels are bytes."""

    c_name = "cm_avg_pool2d_s16"

    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class AvgPoolRowsArguments(RowSumsArguments):
    """The mean over one window, row by row."""

    c_name = "cm_avg_pool2d_rows"

    output: Place


@dataclass(frozen=True)
class AvgPool2d(RangedOp, Pool2d):
    """Mean of the stored values of the image's pixels in a window, halves away from zero.

    Arithmetic: CMSIS-NN's arm_avgpool_s8. The zero point is part of the mean that is rounded.
    """

    label = "avg_pool2d"
    error_steps = fine_error_steps = ONE_ROUNDING
    kernel = "avg_pool2d_s8"
    microkernel = AVG_WINDOW
    form = AvgPoolArguments
    short_kernel = "avg_pool2d_s16"
    short_form = AvgPoolArguments16
    combine = np.add
    start = 0

    range: Range = INT8
    """The clamp of int16 outputs; int8 outputs take all numbers."""

    @property
    def parameters(self) -> tuple[int, ...]:
        return (self.range.minimum, self.range.maximum) if self.is_int16 else ()

    def finish(
        self, results: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        magnitudes = (np.abs(results) + counts // 2) // counts
        return self.range.clamp(np.sign(results) * magnitudes)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """A single window has a smaller kernel; with Helium that of windows divides faster."""
        is_one = self.is_single and self.output_shape[0] == 1
        if self.is_int16 or not is_one or AVG_WINDOW.provider(isa) is Isa.MVE:
            return super().kernel_calls(inputs, outputs, isa)
        return [row_call.call for row_call in self.row_calls(inputs, outputs, isa)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """A single window is added up row by row."""
        if self.is_int16 or not self.is_single:
            return super().row_calls(inputs, outputs, isa)
        total = RowSums.of(inputs[0], *self.covered(inputs[0]))
        arguments = AvgPoolRowsArguments(total, Address(outputs[0]))
        return [accumulate("avg_pool2d_rows_s8", inputs[0], arguments, self.kernel)]


@image_op(
    "quantized_avg_pool2d",
    "(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, "
    "int zero_point, int multiplier, int shift, Tensor scratch, *, Tensor(a!) out)",
)
def read(call: Call) -> None:
    images, output = call.nhwc("input"), call.nhwc_output("out")
    window = read_window(call, images, output)
    op = View(output.shape) if window == Window((1, 1)) else AvgPool2d(window, output.shape)
    call.emit(op, [images], [output])

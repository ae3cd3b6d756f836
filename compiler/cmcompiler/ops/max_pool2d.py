"""Maximum over windows of quantised images: cortex_m::quantized_max_pool2d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, KernelCall, Reach, RowCall, Scratch, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.extreme import EXTREME_ROWS
from cmcompiler.ops.support.arguments import ImageRows
from cmcompiler.ops.support.parameters import read_range
from cmcompiler.ops.support.pooling import Pool2d, PoolArguments, read_pair, read_window
from cmcompiler.ops.support.requantize import Range, RangedOp
from cmcompiler.ops.support.window import image_op

MAX_WINDOW = Microkernel("max_window_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class MaxPoolArguments(PoolArguments):
    """Maxima over windows."""

    c_name = "cm_max_pool2d_s8"

    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class MaxPoolArguments16(MaxPoolArguments):
    """Maxima over windows of int16; channels are bytes."""

    c_name = "cm_max_pool2d_s16"


@dataclass(frozen=True)
class MaxPoolRowsArguments(Arguments):
    """The maximum over one window, row by row."""

    c_name = "cm_max_pool2d_rows"

    input: ImageRows
    maxima: Annotated[Place, "of each channel so far; kept from call to call"]
    first_row: Int32
    rows: Int32
    first_column: Int32
    columns: Annotated[Int32, "pixels of each row from the first column on"]
    output: Place
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class MaxPool2d(RangedOp, Pool2d):
    """Maximum of the image's pixels in a window, clamped."""

    label = "max_pool2d"
    error_steps = fine_error_steps = 0.0
    kernel = "max_pool2d_s8"
    microkernel = MAX_WINDOW
    form = MaxPoolArguments
    short_kernel = "max_pool2d_s16"
    short_form = MaxPoolArguments16
    combine = np.maximum
    start = -(1 << 15)

    range: Range

    def finish(
        self, results: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        return self.range.clamp(results)

    @property
    def parameters(self) -> tuple[int, ...]:
        return self.range.minimum, self.range.maximum

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """The call for a single window, row by row."""
        if self.is_int16 or not self.is_single:
            return super().row_calls(inputs, outputs, isa)
        (image,) = inputs
        rows, columns = self.covered(image)
        arguments = MaxPoolRowsArguments(
            ImageRows.of(image),
            maxima=Scratch(image.shape[3], kept=True),
            first_row=rows.start,
            rows=len(rows),
            first_column=columns.start,
            columns=len(columns),
            output=Address(outputs[0]),
            minimum=self.range.minimum,
            maximum=self.range.maximum,
        )
        call = KernelCall(
            "max_pool2d_rows_s8",
            arguments.words(),
            (0, len(rows)),
            EXTREME_ROWS,
            MaxPoolRowsArguments,
        )
        return [RowCall(call, {image: Reach(1, rows.start, rows.start)}, step=0)]


@image_op(
    "quantized_max_pool2d",
    "(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
    "bool ceil_mode, int input_zero_point, int output_zero_point, int activation_min, "
    "int activation_max, *, Tensor(a!) out)",
)
def read(call: Call) -> None:
    images, output = call.nhwc("input"), call.nhwc_output("out")
    if call.integer("input_zero_point") != call.integer("output_zero_point"):
        call.unsupported("input and output have different zero points")
    window = read_window(call, images, output, read_pair(call, "dilation", at_least=1))
    limits = read_range(call)
    call.emit(MaxPool2d(window, output.shape, limits), [images], [output])

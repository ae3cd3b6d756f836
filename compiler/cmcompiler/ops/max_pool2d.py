"""Maximum over windows of quantised images: cortex_m::quantized_max_pool2d."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import Words
from cmcompiler.isa import Microkernel
from cmcompiler.ops.support.parameters import read_range
from cmcompiler.ops.support.pooling import Pool2d, read_pair, read_window
from cmcompiler.ops.support.requantize import Int8Array, Range
from cmcompiler.ops.support.window import image_op

MAX_WINDOW = Microkernel("max_window_s8", dsp=True, mve=True)


@dataclass(frozen=True)
class MaxPool2d(Pool2d):
    """Maximum of the image's pixels in a window, clamped."""

    label = "max_pool2d"
    kernel = "max_pool2d_s8"
    microkernel = MAX_WINDOW
    combine = np.maximum
    start = -128

    range: Range

    def finish(self, results: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]) -> Int8Array:
        return self.range.clamp(results)

    def parameters(self) -> Words:
        return [("minimum", self.range.minimum), ("maximum", self.range.maximum)]


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

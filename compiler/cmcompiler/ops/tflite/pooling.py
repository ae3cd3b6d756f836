"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.convolution import LARGEST
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.tflite._scales import (
    clamped,
    read_activation_range,
    read_activations,
    read_same_scale,
    read_scale,
    tflite_op,
)
from cmcompiler.ops.tflite._windows import read_window


@tflite_op("AVERAGE_POOL_2D")
def read_average(call: Call) -> None:
    images, window, output = _read(call)
    limits = read_activation_range(call, read_scale(call, "out"))
    if output.dtype == np.int16:
        call.emit(AvgPool2d(window, output.shape, limits), [images], [output])
        return
    with_bounds = clamped(call, output, limits)
    call.emit(AvgPool2d(window, output.shape), [images], [with_bounds])


@tflite_op("MAX_POOL_2D")
def read_max(call: Call) -> None:
    images, window, output = _read(call)
    limits = read_activation_range(call, read_scale(call, "out"))
    call.emit(MaxPool2d(window, output.shape, limits), [images], [output])


def _read(call: Call) -> tuple[Tensor, Window, Tensor]:
    """Images, the window over them, and the output."""
    images, output = (operand.tensor for operand in read_activations(call))
    if not len(output.shape) == len(images.shape) == 4 or 0 in images.shape:
        call.invalid(f"{list(images.shape)} to {list(output.shape)}")
    if (output.shape[0], output.shape[3]) != (images.shape[0], images.shape[3]):
        call.invalid(f"{list(images.shape)} to {list(output.shape)}")
    read_same_scale(call, "input", "out")
    kernel = call.integer("filter_h", 1, LARGEST), call.integer("filter_w", 1, LARGEST)
    return images, read_window(call, kernel, images, output), output

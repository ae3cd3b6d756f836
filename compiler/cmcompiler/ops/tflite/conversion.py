"""QUANTIZE, DEQUANTIZE and CAST."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.cast import check_castable, convert
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.tflite._scales import Scale, rescale, tflite_op
from cmcompiler.ops.two_slopes import TwoSlopes

BYTES = (np.int8, np.uint8)
STORED = (*BYTES, np.int16, np.int32)
"""Types that stand for real numbers."""


@tflite_op("QUANTIZE")
def read_quantize(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if output.dtype not in STORED:
        call.wrong_type(f"output is {output.dtype.name}, not int8")
    result, limits = _read_scale(call, "out", output.dtype), np.iinfo(output.dtype)
    if source.dtype == np.float32:
        op = Quantize(
            output.dtype,
            result.scale,
            result.zero_point,
            int(limits.min),
            int(limits.max),
            is_divided=True,
        )
        call.emit(op, [source.tensor], [output.tensor])
        return
    if source.dtype not in STORED:
        call.wrong_type(f"input is {source.dtype.name}, not float32 or int8")
    before = _read_scale(call, "input", source.dtype)
    change = rescale(call, result.zero_point, before.scale / result.scale)
    if source.dtype not in BYTES or output.dtype not in BYTES:
        ends = before.zero_point, result.zero_point
        whole = int(limits.min), int(limits.max)
        slopes = TwoSlopes(output.dtype, *ends, change, change, *whole, name="requantize")
        call.emit(slopes, [source.tensor], [output.tensor])
        return
    stored = EVERY.view(source.dtype).astype(np.int32)
    table = np.clip(change.apply(stored - before.zero_point), limits.min, limits.max)
    content = table.astype(output.dtype).tobytes()
    op_ = Activation(content, output.dtype, name="requantize")
    call.emit(op_, [source.tensor], [output.tensor])


@tflite_op("DEQUANTIZE")
def read_dequantize(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out", dtype=np.float32)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if source.dtype not in (*BYTES, np.int16):
        call.wrong_type(f"input is {source.dtype.name}, not int8 or int16")
    scale = _read_scale(call, "input", source.dtype)
    call.emit(Dequantize(scale.scale, scale.zero_point), [source.tensor], [output.tensor])


@tflite_op("CAST")
def read_cast(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    for dtype in (source.dtype, output.dtype):
        check_castable(call, dtype)
    convert(call, source)


def _read_scale(call: Call, name: str, dtype: np.dtype[Any]) -> Scale:
    """The one scale of a quantised tensor."""
    stored, limits = call.quantization(name), np.iinfo(dtype)
    if len(stored.scales) != 1:
        call.unsupported(f"{name} has {len(stored.scales)} scales, not one")
    (scale,), (zero_point,) = stored.scales, stored.zero_points
    if not 2.0**-100 <= scale <= 2.0**100:
        call.unsupported(f"{name} has scale {scale:g}")
    if not limits.min <= zero_point <= limits.max:
        call.unsupported(f"{name} has zero point {zero_point}")
    return Scale(scale, zero_point)

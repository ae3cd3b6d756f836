"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.quantized_upsample import EXACT_WEIGHT, QuantizedBilinear
from cmcompiler.ops.tflite._scales import read_same_scale, rounded, tflite_op
from cmcompiler.ops.upsample import Blend, Indices, emit_nearest

WEIGHT_BITS = 10
"""Fractional bits of places and weights."""

ONE = 1 << WEIGHT_BITS


@tflite_op("RESIZE_NEAREST_NEIGHBOR")
def read_nearest(call: Call) -> None:
    source, output = _read(call)
    places = [_nearest(call, source.shape[axis], output.shape[axis]) for axis in (1, 2)]
    emit_nearest(call, source, output, places, (1, 2))


def _nearest(call: Call, length: int, count: int) -> Indices:
    """The input of each output, in float32."""
    aligned, half = call.boolean("align_corners"), call.boolean("half_pixel_centers")
    scale = np.float32(length) / np.float32(count)
    if aligned and count > 1:
        scale = np.float32(length - 1) / np.float32(count - 1)
    steps = (np.arange(count, dtype=np.float32) + np.float32(0.5 if half else 0)) * scale
    nearest = rounded(steps) if aligned else np.floor(steps)
    return np.clip(nearest.astype(np.int64), 0, length - 1)


@tflite_op("RESIZE_BILINEAR")
def read_bilinear(call: Call) -> None:
    source, output = _read(call)
    if source.dtype not in (np.int8, np.int16):
        call.wrong_type(f"input is {source.dtype.name}, not int8 or int16")
    read_same_scale(call, "input", "out")
    rows, columns = (_blend(call, source.shape[axis], output.shape[axis]) for axis in (1, 2))
    is_short = source.dtype == np.int16
    op = QuantizedBilinear(rows, columns, output.tensor.shape, EXACT_WEIGHT, is_short)
    call.emit(op, [source.tensor], [output.tensor])


def _blend(call: Call, length: int, count: int) -> Blend:
    """Places and weights of 10 fractional bits."""
    aligned, half = call.boolean("align_corners"), call.boolean("half_pixel_centers")
    step = (ONE * length + count // 2) // count
    if aligned and count > 1:
        step = (ONE * (length - 1) + (count - 1) // 2) // (count - 1)
    places = np.arange(count, dtype=np.int64) * step
    if half:
        places += step // 2 - ONE // 2
    low = np.clip(np.trunc(places / ONE).astype(np.int64), 0, length - 1)
    high = np.clip(np.trunc((places + ONE - 1) / ONE).astype(np.int64), 0, length - 1)
    weights = np.where(low == high, 0, places - ONE * low) / ONE
    return Blend(tuple(low.tolist()), tuple(high.tolist()), tuple(weights.tolist()))


def _read(call: Call) -> tuple[Operand, Operand]:
    """Images, and those of another size, which is the output's whatever says it besides."""
    source, output = call.tensor("input", rank=4), call.output("out")
    ends = [shape[:1] + shape[3:] for shape in (source.shape, output.shape)]
    if output.rank != 4 or ends[0] != ends[1] or 0 in source.shape + output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if source.dtype != output.dtype:
        call.invalid(f"{source.dtype.name} to {output.dtype.name}")
    if call.boolean("align_corners") and call.boolean("half_pixel_centers"):
        call.invalid("corners are aligned and pixels have half centers")
    return source, output

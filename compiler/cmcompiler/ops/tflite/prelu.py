"""PRELU."""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.prelu import Prelu
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.requantize import Int32Array
from cmcompiler.ops.tflite._scales import (
    element_range,
    read_activations,
    read_scale,
    rescale,
    tflite_op,
)


@tflite_op("PRELU")
def read_prelu(call: Call) -> None:
    """One slope makes a table of int8 numbers, others a factor for each channel or element."""
    source, output = read_activations(call)
    alpha = call.constant("alpha", dtype=np.int8)
    if source.shape != output.shape or 0 in source.shape or source.rank == 0:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    scale, slope, result = (read_scale(call, name) for name in ("input", "alpha", "out"))
    rescales = (
        rescale(call, 0, scale.scale / result.scale),
        rescale(call, 0, scale.scale * slope.scale / result.scale),
    )
    offset = np.int32(slope.zero_point)
    slopes = _slopes(call, alpha.astype(np.int32) - offset, source.shape)
    ends = scale.zero_point, result.zero_point
    is_same = len(set(slopes.tolist())) == 1
    if source.dtype == np.int16:
        every = np.repeat(slopes[:1], source.shape[-1]) if is_same else slopes
        _emit(call, Prelu(every, 0, 0, *ends, rescales, element_range(call)), source, output)
    elif is_same:
        one = Prelu(slopes[:1], 0, 0, *ends, rescales)
        (table,) = one.reference(EVERY[:, None])
        call.emit(Activation(table.tobytes(), name="prelu"), [source.tensor], [output.tensor])
    else:
        _emit(call, Prelu(slopes, 0, 0, *ends, rescales), source, output)


def _slopes(call: Call, alpha: Int32Array, shape: tuple[int, ...]) -> Int32Array:
    """Slopes of the channels, or of all elements of the dimensions along which they differ."""
    rank = len(shape)
    whole = alpha.reshape((*(1,) * (rank - alpha.ndim), *alpha.shape))
    if whole.ndim > rank or any(
        own not in (1, size) for own, size in zip(whole.shape, shape, strict=False)
    ):
        call.invalid(f"slopes of shape {list(alpha.shape)} for {list(shape)}")
    first = next((axis for axis, size in enumerate(whole.shape) if size > 1), rank - 1)
    return np.broadcast_to(whole[(0,) * first], shape[first:]).ravel()


def _emit(call: Call, op: Prelu, source: Operand, output: Operand) -> None:
    """Emits it for rows of as many elements as it has slopes."""
    if len(op.below) == source.shape[-1]:
        call.emit(op, [source.tensor], [output.tensor])
        return
    shape = prod(source.shape) // len(op.below), len(op.below)
    before, after = (call.temporary(source.dtype, shape) for _ in range(2))
    call.emit(View(shape), [source.tensor], [before])
    call.emit(op, [before], [after])
    call.emit(View(output.tensor.shape), [after], [output.tensor])

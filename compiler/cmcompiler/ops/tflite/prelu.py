"""PRELU."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.prelu import Prelu
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.tflite._scales import (
    element_range,
    read_activations,
    read_scale,
    rescale,
    tflite_op,
)


@tflite_op("PRELU")
def read_prelu(call: Call) -> None:
    """One slope makes a table of int8 numbers, others a factor for each channel."""
    source, output = read_activations(call)
    alpha = call.constant("alpha", dtype=np.int8)
    if source.shape != output.shape or 0 in source.shape or source.rank == 0:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if alpha.size != max(alpha.shape[-1:], default=1) or alpha.size not in (1, source.shape[-1]):
        call.unsupported(f"slopes of shape {list(alpha.shape)} for {list(source.shape)}")
    scale, slope, result = (read_scale(call, name) for name in ("input", "alpha", "out"))
    rescales = (
        rescale(call, 0, scale.scale / result.scale),
        rescale(call, 0, scale.scale * slope.scale / result.scale),
    )
    slopes = alpha.ravel().astype(np.int32) - np.int32(slope.zero_point)
    ends = scale.zero_point, result.zero_point
    if source.dtype == np.int16:
        factors = np.repeat(slopes, 1 if slopes.size > 1 else source.shape[-1])
        short = Prelu(factors, 0, 0, *ends, rescales, element_range(call))
        call.emit(short, [source.tensor], [output.tensor])
        return
    op = Prelu(slopes, 0, 0, *ends, rescales)
    if len(set(slopes.tolist())) > 1:
        call.emit(op, [source.tensor], [output.tensor])
        return
    one = Prelu(slopes[:1], 0, 0, *ends, rescales)
    (table,) = one.reference(EVERY[:, None])
    call.emit(Activation(table.tobytes(), name="prelu"), [source.tensor], [output.tensor])

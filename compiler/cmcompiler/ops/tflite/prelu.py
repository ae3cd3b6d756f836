"""PRELU."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.prelu import Prelu
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.tflite._scales import read_scale, rescale, tflite_op


@tflite_op("PRELU")
def read_prelu(call: Call) -> None:
    """One slope makes a table, others a factor for each channel."""
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
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
    op = Prelu(slopes, 0, 0, scale.zero_point, result.zero_point, rescales)
    if len(set(slopes.tolist())) > 1:
        call.emit(op, [source.tensor], [output.tensor])
        return
    one = Prelu(slopes[:1], 0, 0, scale.zero_point, result.zero_point, rescales)
    (table,) = one.reference(EVERY[:, None])
    call.emit(Activation(table.tobytes(), name="prelu"), [source.tensor], [output.tensor])

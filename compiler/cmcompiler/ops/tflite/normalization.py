"""L2_NORMALIZATION."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.l2_normalization import LONGEST, L2Normalization
from cmcompiler.ops.tflite._scales import Scale, read_scale, tflite_op


@tflite_op("L2_NORMALIZATION")
def read_l2(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    if source.shape != output.shape or source.rank == 0 or 0 in source.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if call.integer("activation") != 0:
        call.unsupported("it has a fused activation")
    if read_scale(call, "out") != Scale(1 / 128, 0):
        call.unsupported("the output's scale is not 1/128 with zero point 0")
    length = source.shape[-1]
    if length > LONGEST:
        call.unsupported(f"rows of {length:,} elements, not up to {LONGEST:,}")
    op = L2Normalization(length, read_scale(call, "input").zero_point)
    call.emit(op, [source.tensor], [output.tensor])

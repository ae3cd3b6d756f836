"""Functions of one number, by table: LOGISTIC."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.tflite._scales import Scale, read_scale, tflite_op


@tflite_op("LOGISTIC")
def read_logistic(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    scale = read_scale(call, "input")
    if read_scale(call, "out") != Scale(1 / 256, -128):
        call.unsupported("the output's scale is not 1/256 with zero point -128")
    reals = (EVERY.astype(np.int64) - scale.zero_point) * scale.scale
    with np.errstate(over="ignore"):
        steps = np.rint(256 / (1 + np.exp(-reals))) - 128
    table = np.clip(steps, -128, 127).astype(np.int8)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    call.emit(Activation(table.tobytes(), name="logistic"), [source.tensor], [output.tensor])

"""SOFTMAX."""

from __future__ import annotations

import math

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.softmax import Softmax
from cmcompiler.ops.support.parameters import INT32_MAX
from cmcompiler.ops.tflite._scales import Scale, quantize_multiplier, read_scale, tflite_op

_DIFFERENCE_BITS = 26
"""Fractional bits of scaled differences from the maximum."""

_LARGEST_DIFFERENCE = 31
"""exp(-x) counts as 0 from there on."""


@tflite_op("SOFTMAX")
def read_softmax(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    scale = read_scale(call, "input")
    if read_scale(call, "out") != Scale(1 / 256, -128):
        call.unsupported("the output's scale is not 1/256 with zero point -128")
    beta = call.number("beta")
    factor = min(beta * scale.scale * (1 << _DIFFERENCE_BITS), float(INT32_MAX))
    if not (math.isfinite(beta) and factor > 1):
        call.unsupported(f"beta {beta:g} with scale {scale.scale:g}")
    multiplier, shift = quantize_multiplier(factor)
    least = (_LARGEST_DIFFERENCE << _DIFFERENCE_BITS) >> shift
    op = Softmax(multiplier, shift, -min(least, INT32_MAX >> shift))
    call.emit(op, [source.tensor], [output.tensor])

"""SOFTMAX and LOG_SOFTMAX."""

from __future__ import annotations

import math

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.operand import Operand
from cmcompiler.ops import fixed_log_softmax
from cmcompiler.ops.fixed_log_softmax import FixedLogSoftmax
from cmcompiler.ops.short_softmax import LONGEST, ShortSoftmax
from cmcompiler.ops.softmax import Softmax
from cmcompiler.ops.support.parameters import INT32_MAX
from cmcompiler.ops.tflite._scales import Scale, quantize_multiplier, read_scale, tflite_op

_DIFFERENCE_BITS = 26
"""Fractional bits of scaled differences from the maximum."""

MOST_LEFT = 14
"""Places that a difference of two int16 numbers may be shifted left by."""

_LARGEST_DIFFERENCE = 31
"""exp(-x) counts as 0 from there on."""


@tflite_op("SOFTMAX")
def read_softmax(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    if output.dtype == np.int16:
        _emit_short(call, source, output)
        return
    if source.dtype != np.int8 or output.dtype != np.int8:
        call.wrong_type(f"{source.dtype.name} to {output.dtype.name}")
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


_SHORT_RANGE = 10.0
"""exp(-x) counts as exp(-10) from there on, where results are int16."""


def _emit_short(call: Call, source: Operand, output: Operand) -> None:
    if source.dtype not in (np.int8, np.int16):
        call.wrong_type(f"input is {source.dtype.name}, not int8 or int16")
    if source.shape != output.shape or source.rank == 0 or 0 in source.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if read_scale(call, "out") != Scale(1 / 32768, 0):
        call.unsupported("the output's scale is not 1/32768")
    if source.shape[-1] > LONGEST:
        call.unsupported(f"rows of {source.shape[-1]:,} elements, not up to {LONGEST:,}")
    beta = call.number("beta")
    factor = read_scale(call, "input").scale * beta / (_SHORT_RANGE / 65535.0)
    if not (math.isfinite(factor) and factor > 0):
        call.unsupported(f"beta {beta:g}")
    multiplier, shift = quantize_multiplier(factor)
    if shift > MOST_LEFT:
        call.unsupported(f"the input's scale {read_scale(call, 'input').scale:g} is too large")
    op = ShortSoftmax(multiplier, shift, source.shape[-1])
    call.emit(op, [source.tensor], [output.tensor])


@tflite_op("LOG_SOFTMAX")
def read_log_softmax(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if read_scale(call, "out") != Scale(1 / 16, 127):
        call.unsupported("the output's scale is not 1/16 with zero point 127")
    if (longest := fixed_log_softmax.LONGEST) < (1, *source.shape)[-1]:
        call.unsupported(f"rows of {source.shape[-1]:,} elements; at most {longest:,}")
    scale = read_scale(call, "input").scale
    multiplier, shift = quantize_multiplier(min(scale * (1 << _DIFFERENCE_BITS), float(INT32_MAX)))
    reverse = 2.0 ** (31 - shift) / multiplier if multiplier else math.inf
    if shift < 1 or reverse >= 1:
        call.unsupported(f"an input of scale {scale:g}")
    reverse_multiplier, reverse_shift = quantize_multiplier(reverse)
    least = (_LARGEST_DIFFERENCE << _DIFFERENCE_BITS) >> shift
    op = FixedLogSoftmax(multiplier, shift, -least, reverse_multiplier, -reverse_shift)
    call.emit(op, [source.tensor], [output.tensor])

"""ADD."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.add import LEFT_SHIFT, Add
from cmcompiler.ops.support.elementwise import align_pair
from cmcompiler.ops.tflite._scales import read_activation_range, read_scale, rescale, tflite_op


@tflite_op("ADD")
def read_add(call: Call) -> None:
    output = call.output("out", dtype=np.int8)
    operands = [call.tensor(name, dtype=np.int8) for name in ("lhs", "rhs")]
    scales, result = [read_scale(call, name) for name in ("lhs", "rhs")], read_scale(call, "out")
    largest = 2 * max(scale.scale for scale in scales)
    factors = [rescale(call, scale.zero_point, scale.scale / largest) for scale in scales]
    final = rescale(call, result.zero_point, largest / ((1 << LEFT_SHIFT) * result.scale))
    loops, tensors, (lhs, rhs) = align_pair(call, operands, output)
    limits = read_activation_range(call, result)
    op = Add(loops, output.tensor.shape, factors[lhs], factors[rhs], final, limits)
    call.emit(op, tensors, [output.tensor])

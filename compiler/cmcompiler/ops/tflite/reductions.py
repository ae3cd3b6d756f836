"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, ARG_MAX and ARG_MIN."""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.extreme import Extreme
from cmcompiler.ops.quantized_sum import MOST_MEMBERS, MOST_SHORT_MEMBERS, QuantizedSum
from cmcompiler.ops.reduction import ReductionFunction, emit_reduction
from cmcompiler.ops.support.members import Members
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.tflite._scales import (
    element_range,
    quantize_multiplier,
    read_activations,
    read_same_scale,
    read_scale,
    tflite_op,
)
from cmcompiler.ops.tflite.movement import read_axes


@tflite_op("MEAN", "SUM")
def read_sum(call: Call) -> None:
    """The divisor of a mean is part of the multiplier."""
    source, output, members = _read(call)
    scale, result = read_scale(call, "input"), read_scale(call, "out")
    count = members.members
    most = MOST_SHORT_MEMBERS if source.dtype == np.int16 else MOST_MEMBERS
    if not 1 <= count <= most:
        call.unsupported(f"a sum of {count:,} elements, not 1 to {most:,}")
    multiplier, shift = quantize_multiplier(scale.scale / result.scale)
    if call.operator.endswith("MEAN"):
        places = min(count.bit_length() - 1, 31 + shift)
        multiplier, shift = (multiplier << places) // count, shift - places
    target = call.arranged_output(output, members.result_order)
    op = QuantizedSum(
        members.outer,
        count,
        members.inner,
        scale.zero_point,
        Rescale(result.zero_point, multiplier, shift),
        target.shape,
        element_range(call),
    )
    call.emit(op, [call.arrange(source, members.order)], [target])


@tflite_op("REDUCE_MAX", "REDUCE_MIN")
def read_extreme(call: Call) -> None:
    source, output, members = _read(call)
    read_same_scale(call, "input", "out")
    is_maximum = call.operator.endswith("MAX")
    if source.dtype == np.int16:
        function = ReductionFunction.MAXIMUM if is_maximum else ReductionFunction.MINIMUM
        emit_reduction(call, function, source, read_axes(call, "axes", source.rank), output)
        return
    target = call.arranged_output(output, members.result_order)
    op = Extreme(is_maximum, members.outer, members.members, members.inner, target.shape)
    call.emit(op, [call.arrange(source, members.order)], [target])


def _read(call: Call) -> tuple[Operand, Operand, Members]:
    """A tensor, its reduction, and what is reduced."""
    source, output = read_activations(call)
    dims, keepdim = read_axes(call, "axes", source.rank), call.boolean("keep_dims")
    shape = tuple(
        1 if dim in dims else size
        for dim, size in enumerate(source.shape)
        if keepdim or dim not in dims
    )
    if (shape, output.shape) == ((), (1,)):  # some converters keep one dimension
        output = Operand(output.tensor, (), ())
    if output.shape != shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)} over {list(dims)}")
    if not dims or prod(source.shape) == 0:
        call.unsupported(f"{list(source.shape)} over {list(dims)}")
    return source, output, Members.of(source, dims, keepdim)


@tflite_op("ARG_MAX", "ARG_MIN")
def read_place(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    if source.dtype not in (np.int8, np.int32) or output.dtype not in (np.int32, np.int64):
        call.wrong_type(f"{source.dtype.name} to {output.dtype.name}")
    axes = read_axes(call, "axis", source.rank, 1)
    is_maximum = call.operator.endswith("MAX")
    function = ReductionFunction.ARGMAX if is_maximum else ReductionFunction.ARGMIN
    emit_reduction(call, function, source, axes, output)

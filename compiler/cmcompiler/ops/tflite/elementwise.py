"""ADD, SUB, MUL, DIV, SQUARED_DIFFERENCE, MAXIMUM and MINIMUM."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.add import LEFT_SHIFT, SHORT_LEFT_SHIFT, Add, sums
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.minimum import Maximum, Minimum
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.quotient import LONGEST_LEFT_SHIFT, Quotient
from cmcompiler.ops.squared_difference import LEFT_SHIFT as SQUARED_LEFT_SHIFT
from cmcompiler.ops.squared_difference import SquaredDifference
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.elementwise import align_pair
from cmcompiler.ops.support.parameters import INT8, Rescale
from cmcompiler.ops.tflite._scales import (
    Scale,
    clamped,
    element_range,
    read_activation_range,
    read_scale,
    rescale,
    tflite_op,
)

_INTEGERS = (np.int32, np.int64)

_STEPS = (0, 1, -1, 2, -2, 4, -4, 8, -8, 16, -16)
"""Numbers that may be added to a multiplier."""


@tflite_op("ADD", "SUB")
def read_sum(call: Call) -> None:
    """A difference is the sum with the second operand's multiplier turned negative."""
    is_difference = call.operator.endswith("SUB")
    lhs, rhs, output = _read(call)
    if output.dtype in _INTEGERS:
        _emit_integers(call, BinaryFunction.SUB if is_difference else BinaryFunction.ADD)
        return
    scales, result = _read_scales(call)
    if output.dtype == np.int16:
        factors, final = _sum_scales(call, scales, result, SHORT_LEFT_SHIFT)
        if is_difference:
            factors[1] = replace(factors[1], multiplier=-factors[1].multiplier)
    elif is_difference:
        factors, final = _difference_scales(call, scales, result)
    else:
        factors, final = _sum_scales(call, scales, result)
    loops, tensors, order = align_pair(call, [lhs, rhs], output)
    limits = read_activation_range(call, result)
    first, second = (factors[place] for place in order)
    op = Add(loops, output.tensor.shape, first, second, final, limits)
    call.emit(op, tensors, [output.tensor])


Scales = tuple[list[Rescale], Rescale]
"""Scales of the operands and of the output."""


def _sum_scales(
    call: Call, scales: list[Scale], result: Scale, left_shift: int = LEFT_SHIFT
) -> Scales:
    factors, largest = _halves(call, scales)
    final = rescale(call, result.zero_point, largest / ((1 << left_shift) * result.scale))
    return factors, final


def _halves(call: Call, scales: list[Scale]) -> tuple[list[Rescale], float]:
    """The operands' scales in units of twice the larger one, and that unit."""
    largest = 2 * max(scale.scale for scale in scales)
    if largest == 0:
        call.invalid("both its operands have scale 0")
    return [rescale(call, scale.zero_point, scale.scale / largest) for scale in scales], largest


def _difference_scales(call: Call, scales: list[Scale], result: Scale) -> Scales:
    """With the second multiplier negative."""
    factors, final = _sum_scales(call, scales, result)
    # Halves are rounded up whatever the sign: products that end in one differ in their last bit,
    # which hardly ever shows in the result, and then goes away with another last bit of a factor.
    wide = [(EVERY.astype(np.int32) - s.zero_point) << LEFT_SHIFT for s in scales]
    left, right = (f.scale(x).astype(np.int64) for f, x in zip(factors, wide, strict=True))
    expected = INT8.clamp(final.apply((left[:, None] - right).astype(np.int32)))
    for step in _STEPS:
        negated = replace(factors[1], multiplier=step - factors[1].multiplier)
        if np.array_equal(
            sums(EVERY[:, None], EVERY, (factors[0], negated, final), INT8), expected
        ):
            return [factors[0], negated], final
    call.unsupported("no factors compute its differences")


@tflite_op("MUL")
def read_mul(call: Call) -> None:
    lhs, rhs, output = _read(call)
    if output.dtype in _INTEGERS:
        _emit_integers(call, BinaryFunction.MUL)
        return
    scales, result = _read_scales(call)
    factor = rescale(call, result.zero_point, scales[0].scale * scales[1].scale / result.scale)
    loops, tensors, (first, second) = align_pair(call, [lhs, rhs], output)
    limits = read_activation_range(call, result)
    if output.dtype == np.int16:
        op = Mul(loops, output.tensor.shape, 0, 0, factor, limits)
        call.emit(op, tensors, [output.tensor])
        return
    target = clamped(call, output.tensor, limits)
    zero_points = [scale.zero_point for scale in scales]
    op = Mul(loops, output.tensor.shape, zero_points[first], zero_points[second], factor)
    call.emit(op, tensors, [target])


@tflite_op("DIV")
def read_quotient(call: Call) -> None:
    lhs, rhs, output = _read_bytes(call)
    scales, result = _read_scales(call)
    unit = scales[1].scale * result.scale
    factor = rescale(call, result.zero_point, scales[0].scale / unit if unit else math.inf)
    if factor.shift > LONGEST_LEFT_SHIFT:
        call.unsupported(f"a quotient of 1 is {factor.factor:g} steps")
    loops, tensors, order = align_pair(call, [lhs, rhs], output)
    target = clamped(call, output.tensor, read_activation_range(call, result))
    ends = scales[0].zero_point, scales[1].zero_point
    op = Quotient(loops, output.tensor.shape, order[0] == 1, *ends, factor)
    call.emit(op, tensors, [target])


@tflite_op("SQUARED_DIFFERENCE")
def read_squared_difference(call: Call) -> None:
    lhs, rhs, output = _read(call)
    if output.dtype in _INTEGERS:
        call.wrong_type(f"its operands are {output.dtype.name}, not int8 or int16")
    scales, result = _read_scales(call)
    factors, largest = _halves(call, scales)
    left_shift = 0 if output.dtype == np.int16 else SQUARED_LEFT_SHIFT
    square = largest * largest / ((1 << 2 * left_shift) * result.scale)
    final = rescale(call, result.zero_point, square)
    loops, tensors, (first, second) = align_pair(call, [lhs, rhs], output)
    operands = factors[first], factors[second]
    op = SquaredDifference(loops, output.tensor.shape, *operands, final, element_range(call))
    call.emit(op, tensors, [output.tensor])


@tflite_op("MAXIMUM", "MINIMUM")
def read_extreme(call: Call) -> None:
    """The stored numbers are compared as they are."""
    is_minimum = call.operator.endswith("MINIMUM")
    lhs, rhs, output = _read(call)
    if output.dtype in _INTEGERS:
        function = BinaryFunction.MINIMUM if is_minimum else BinaryFunction.MAXIMUM
        emit_binary(call, function, lhs, rhs, output)
        return
    scales = [read_scale(call, name) for name in ("lhs", "rhs", "out")]
    if len(set(scales)) != 1:
        call.unsupported("its inputs and its output have different scales")
    loops, tensors, _ = align_pair(call, [lhs, rhs], output)
    op = (Minimum if is_minimum else Maximum)(loops, output.tensor.shape)
    call.emit(op, tensors, [output.tensor])


def _read(call: Call) -> tuple[Operand, Operand, Operand]:
    """Both operands and the output, of one type."""
    lhs, rhs, output = call.tensor("lhs"), call.tensor("rhs"), call.output("out")
    if not lhs.dtype == rhs.dtype == output.dtype:
        call.wrong_type(f"{lhs.dtype.name} and {rhs.dtype.name} to {output.dtype.name}")
    if output.dtype not in (np.int8, np.int16, *_INTEGERS):
        call.wrong_type(f"its operands are {output.dtype.name}, not int8 or int16")
    return lhs, rhs, output


def _read_scales(call: Call) -> tuple[list[Scale], Scale]:
    """Scales of the operands, one of which may be 0, and of the output."""
    scales = [read_scale(call, name, may_vanish=True) for name in ("lhs", "rhs")]
    return scales, read_scale(call, "out")


def _read_bytes(call: Call) -> tuple[Operand, Operand, Operand]:
    """Both operands and the output, of int8."""
    lhs, rhs, output = call.tensor("lhs"), call.tensor("rhs"), call.output("out")
    if not lhs.dtype == rhs.dtype == output.dtype == np.int8:
        call.wrong_type(f"{lhs.dtype.name} and {rhs.dtype.name} to {output.dtype.name}, not int8")
    return lhs, rhs, output


def _emit_integers(call: Call, function: BinaryFunction) -> None:
    """Emits a function of plain integers, without scales."""
    if call.integer("activation") != 0:
        call.unsupported("it has a fused activation")
    emit_binary(call, function, call.tensor("lhs"), call.tensor("rhs"), call.output("out"))

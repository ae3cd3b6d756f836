"""Functions of float32 numbers, which converters leave between a DEQUANTIZE and a QUANTIZE."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.cumsum import Cumsum
from cmcompiler.ops.support.element import FLOAT
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.tflite._scales import BOUNDS, float_op, read_activation, tflite_op
from cmcompiler.ops.tflite.movement import read_axes
from cmcompiler.ops.unary import emit_unary
from cmcompiler.tflite.kinds import FLOAT_ALONE
from cmcompiler.tflite.operators import PREFIX

_PLAIN = {"NEG": "neg", "SIN": "sin", "COS": "cos", "SIGN": "sign"} | {
    name: name.lower() for name in ("FLOOR", "CEIL", "ROUND")
}
"""Functions that no integers have."""

_OF_BOTH = {"LOGISTIC": "sigmoid", "HARD_SWISH": "hardswish"} | {
    name: name.lower() for name in ("ABS", "SQRT", "RSQRT", "EXP", "LOG", "TANH")
}
"""Functions that integers have, too."""

_PAIRS = {
    "ADD": BinaryFunction.ADD,
    "SUB": BinaryFunction.SUB,
    "MUL": BinaryFunction.MUL,
    "DIV": BinaryFunction.DIV,
    "MAXIMUM": BinaryFunction.MAXIMUM,
    "MINIMUM": BinaryFunction.MINIMUM,
}

_WITHOUT_ACTIVATION = ("MAXIMUM", "MINIMUM")


@tflite_op(*_PLAIN, hint=FLOAT_ALONE)
@float_op(*_OF_BOTH)
def read_function(call: Call) -> None:
    _unary(call, (_PLAIN | _OF_BOTH)[_name(call)])


@float_op("ELU")
def read_elu(call: Call) -> None:
    _unary(call, "elu", (1.0, 1.0))


@float_op("GELU")
def read_gelu(call: Call) -> None:
    _unary(call, "gelu_tanh" if call.boolean("approximate") else "gelu")


@float_op("LEAKY_RELU")
def read_leaky_relu(call: Call) -> None:
    _unary(call, "leaky_relu", (call.number("alpha"), 0.0))


@float_op(*BOUNDS)
def read_relu(call: Call) -> None:
    _unary(call, "clamp", BOUNDS[_name(call)])


@tflite_op("SQUARE", hint=FLOAT_ALONE)
def read_square(call: Call) -> None:
    source = call.tensor("input", dtype=FLOAT)
    emit_binary(call, BinaryFunction.MUL, source, source, call.output("out", dtype=FLOAT))


@float_op("SQUARED_DIFFERENCE")
def read_squared_difference(call: Call) -> None:
    lhs, rhs, output = _pair(call)
    difference = _like(call, output)
    emit_binary(call, BinaryFunction.SUB, lhs, rhs, difference)
    emit_binary(call, BinaryFunction.MUL, difference, difference, output)


@float_op(*_PAIRS)
def read_pair(call: Call) -> None:
    lhs, rhs, output = _pair(call)
    name = _name(call)
    bounds = None if name in _WITHOUT_ACTIVATION else read_activation(call)
    if bounds is None:
        emit_binary(call, _PAIRS[name], lhs, rhs, output)
        return
    result = _like(call, output)
    emit_binary(call, _PAIRS[name], lhs, rhs, result)
    emit_unary(call, "clamp", result, output, bounds)


@tflite_op("ADD_N", hint=FLOAT_ALONE)
def read_sum(call: Call) -> None:
    """Sums are made from the first tensor on."""
    (total, *others), output = call.tensors("inputs"), call.output("out", dtype=FLOAT)
    if any(operand.dtype != FLOAT for operand in (total, *others)):
        call.wrong_type(f"inputs are {total.dtype.name}, not float32")
    if not others:
        call.move(total, output)
    for number, operand in enumerate(others, 1):
        target = output if number == len(others) else _like(call, output)
        emit_binary(call, BinaryFunction.ADD, total, operand, target)
        total = target


@tflite_op("CUMSUM", hint=FLOAT_ALONE)
def read_running_sum(call: Call) -> None:
    source, output = call.tensor("input", dtype=FLOAT), call.output("out", dtype=FLOAT)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    (axis,) = read_axes(call, "axis", source.rank, 1)
    is_reversed = call.boolean("reverse")
    running = _turned(call, source, axis) if is_reversed else source
    if call.boolean("exclusive"):
        running = _delayed(call, running, axis)
    sums = _like(call, output) if is_reversed else output
    order = [*(dim for dim in range(source.rank) if dim != axis), axis]
    reads, writes = (Strided.of(operand).permute(order) for operand in (running, sums))
    call.emit(Cumsum(reads, writes, False, sums.tensor.shape), [running.tensor], [sums.tensor])
    if is_reversed:
        move(call, "flip", output, [(sums, Strided.of(sums).flip(axis), Strided.of(output))])


def _turned(call: Call, source: Operand, axis: int) -> Operand:
    """Elements from the last to the first along an axis."""
    turned = _like(call, source)
    move(call, "flip", turned, [(source, Strided.of(source).flip(axis), Strided.of(turned))])
    return turned


def _delayed(call: Call, source: Operand, axis: int) -> Operand:
    """Elements moved on by one along an axis; the first is 0."""
    later, count = _like(call, source), source.shape[axis] - 1
    reads, writes = (
        Strided.of(operand).slice(axis, first, count)
        for first, operand in enumerate((source, later))
    )
    move(call, "pad", later, [(source, reads, writes)], 0)
    return later


def _name(call: Call) -> str:
    return call.operator.removeprefix(PREFIX)


def _unary(call: Call, function: str, parameters: tuple[float, float] = (0.0, 0.0)) -> None:
    source, output = call.tensor("input", dtype=FLOAT), call.output("out", dtype=FLOAT)
    emit_unary(call, function, source, output, parameters)


def _pair(call: Call) -> tuple[Operand, Operand, Operand]:
    lhs, rhs = (call.tensor(name, dtype=FLOAT) for name in ("lhs", "rhs"))
    return lhs, rhs, call.output("out", dtype=FLOAT)


def _like(call: Call, operand: Operand) -> Operand:
    return call.intermediate(np.float32, operand.shape, operand.dim_order)

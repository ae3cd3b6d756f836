"""Comparisons, logic, and choices between two tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.tflite._scales import read_scale, rescale, tflite_op
from cmcompiler.ops.where import choose

_LEFT_SHIFT = 8
"""Headroom that TensorFlow Lite gives int8 operands before it rescales and compares them."""

_FUNCTIONS = {
    "EQUAL": BinaryFunction.EQ,
    "NOT_EQUAL": BinaryFunction.NE,
    "LESS": BinaryFunction.LT,
    "LESS_EQUAL": BinaryFunction.LE,
    "GREATER": BinaryFunction.GT,
    "GREATER_EQUAL": BinaryFunction.GE,
    "LOGICAL_AND": BinaryFunction.LOGICAL_AND,
    "LOGICAL_OR": BinaryFunction.LOGICAL_OR,
}

_ORDERS = (BinaryFunction.LT, BinaryFunction.LE)
_TURNED = {BinaryFunction.GT: BinaryFunction.LT, BinaryFunction.GE: BinaryFunction.LE}
_EQUALITIES = {
    BinaryFunction.EQ: (BinaryFunction.LE, BinaryFunction.LOGICAL_AND),
    BinaryFunction.NE: (BinaryFunction.LT, BinaryFunction.LOGICAL_OR),
}
"""What holds of both orders of the operands, and how the two are joined."""


@dataclass(frozen=True)
class _Side:
    """An int8 operand, and what each of its numbers is compared as, in rising order."""

    operand: Operand
    values: npt.NDArray[np.int32]


@tflite_op("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def read_comparison(call: Call) -> None:
    lhs, rhs, output = call.tensor("lhs"), call.tensor("rhs"), call.output("out", dtype=np.bool_)
    if lhs.dtype != rhs.dtype:
        call.wrong_type(f"{lhs.dtype.name} and {rhs.dtype.name}")
    function = _FUNCTIONS[call.operator.partition("::")[2]]
    if lhs.dtype != np.int8:
        emit_binary(call, function, lhs, rhs, output)
        return
    sides = _Side(lhs, _compared(call, "lhs")), _Side(rhs, _compared(call, "rhs"))
    if function in _ORDERS:
        _emit_order(call, function, sides, output)
    elif function in _TURNED:
        _emit_order(call, _TURNED[function], sides[::-1], output)
    elif np.array_equal(sides[0].values, sides[1].values) and np.diff(sides[0].values).all():
        emit_binary(call, function, lhs, rhs, output)
    else:
        order, joint = _EQUALITIES[function]
        halves = [call.intermediate(np.bool_, output.shape, output.dim_order) for _ in range(2)]
        _emit_order(call, order, sides, halves[0])
        _emit_order(call, order, sides[::-1], halves[1])
        emit_binary(call, joint, halves[0], halves[1], output)


def _compared(call: Call, name: str) -> npt.NDArray[np.int32]:
    """What each int8 number is compared as: its real number in steps of 2^-8, rounded."""
    scale = read_scale(call, name)
    change = rescale(call, 0, scale.scale)
    return change.scale((EVERY.astype(np.int32) - scale.zero_point) << _LEFT_SHIFT)


def _emit_order(
    call: Call, order: BinaryFunction, sides: tuple[_Side, ...], output: Operand
) -> None:
    """Emits LT or LE: one side goes through a table to the other's numbers.

    A number of the left side is less than those of the right side from some place on, one of 257;
    a table holds 256 of them, all but the first or all but the last. Where places of the left side
    need both, the right side's lie within.
    """
    lhs, rhs = sides
    is_strict = order is BinaryFunction.LT
    from_place = np.searchsorted(rhs.values, lhs.values, "right" if is_strict else "left")
    if from_place.max() < EVERY.size:
        left, right, function = _tabled(call, lhs, from_place), rhs.operand, BinaryFunction.LE
    elif from_place.min() > 0:
        left, right, function = _tabled(call, lhs, from_place - 1), rhs.operand, BinaryFunction.LT
    else:
        before = np.searchsorted(lhs.values, rhs.values, "left" if is_strict else "right")
        left, right, function = lhs.operand, _tabled(call, rhs, before - 1), BinaryFunction.LE
    emit_binary(call, function, left, right, output)


def _tabled(call: Call, side: _Side, places: npt.NDArray[np.intp]) -> Operand:
    """The operand with each of its numbers replaced by the number at a place."""
    table = EVERY[places]
    if np.array_equal(table, EVERY):
        return side.operand
    if side.operand.data is not None:
        return call.literal(table[side.operand.data.astype(np.intp) + EVERY.size // 2])
    to = call.intermediate(np.int8, side.operand.shape, side.operand.dim_order)
    op = Activation(table.tobytes(), name="compared")
    call.emit(op, [side.operand.tensor], [to.tensor])
    return to


@tflite_op("LOGICAL_AND", "LOGICAL_OR")
def read_logic(call: Call) -> None:
    lhs, rhs = (call.tensor(name, dtype=np.bool_) for name in ("lhs", "rhs"))
    output = call.output("out", dtype=np.bool_)
    emit_binary(call, _FUNCTIONS[call.operator.partition("::")[2]], lhs, rhs, output)


@tflite_op("LOGICAL_NOT")
def read_not(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.bool_), call.output("out", dtype=np.bool_)
    emit_binary(call, BinaryFunction.EQ, source, False, output)


@tflite_op("SELECT", "SELECT_V2")
def read_select(call: Call) -> None:
    """The stored numbers are chosen as they are. A condition of SELECT has the output's shape."""
    condition, output = call.tensor("condition", dtype=np.bool_), call.output("out")
    sides = call.tensor("lhs"), call.tensor("rhs")
    if any(side.dtype != output.dtype for side in sides):
        call.wrong_type(f"{[side.dtype.name for side in sides]} to {output.dtype.name}")
    names = ("lhs", "rhs", "out") if output.dtype in (np.int8, np.int16) else ()
    if len({read_scale(call, name) for name in names}) > 1:
        call.unsupported("its inputs and its output have different scales")
    if call.operator.endswith("SELECT") and condition.shape != output.shape:
        call.unsupported(f"a condition of {list(condition.shape)} for {list(output.shape)}")
    choose(call, condition, *sides)

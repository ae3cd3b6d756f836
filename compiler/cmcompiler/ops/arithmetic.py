"""Portable operators that are one function of one or two numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.support.element import FLOAT, Scalar
from cmcompiler.ops.unary import emit_unary

OPERATORS = (
    (BinaryFunction.MUL, "mul.out", "mul.Scalar_out"),
    (BinaryFunction.DIV, "div.out", "div.Scalar_out"),
    (BinaryFunction.MINIMUM, "minimum.out", None),
    (BinaryFunction.MAXIMUM, "maximum.out", None),
    (BinaryFunction.FLOOR_DIV, "floor_divide.out", None),
    (BinaryFunction.FMOD, "fmod.Tensor_out", "fmod.Scalar_out"),
    (BinaryFunction.REMAINDER, "remainder.Tensor_out", "remainder.Scalar_out"),
    (BinaryFunction.ATAN2, "atan2.out", None),
    (BinaryFunction.AND, "bitwise_and.Tensor_out", "bitwise_and.Scalar_out"),
    (BinaryFunction.OR, "bitwise_or.Tensor_out", "bitwise_or.Scalar_out"),
    (BinaryFunction.XOR, "bitwise_xor.Tensor_out", "bitwise_xor.Scalar_out"),
    (
        BinaryFunction.SHIFT_LEFT,
        "bitwise_left_shift.Tensor_out",
        "bitwise_left_shift.Tensor_Scalar_out",
    ),
    (
        BinaryFunction.SHIFT_RIGHT,
        "bitwise_right_shift.Tensor_out",
        "bitwise_right_shift.Tensor_Scalar_out",
    ),
    (BinaryFunction.EQ, "eq.Tensor_out", "eq.Scalar_out"),
    (BinaryFunction.NE, "ne.Tensor_out", "ne.Scalar_out"),
    (BinaryFunction.LT, "lt.Tensor_out", "lt.Scalar_out"),
    (BinaryFunction.LE, "le.Tensor_out", "le.Scalar_out"),
    (BinaryFunction.GT, "gt.Tensor_out", "gt.Scalar_out"),
    (BinaryFunction.GE, "ge.Tensor_out", "ge.Scalar_out"),
    (BinaryFunction.LOGICAL_AND, "logical_and.out", None),
    (BinaryFunction.LOGICAL_OR, "logical_or.out", None),
    (BinaryFunction.LOGICAL_XOR, "logical_xor.out", None),
)
"""Functions, the operators of two tensors, and those of a tensor and a number that they are."""

TENSORS = {operator: function for function, operator, _ in OPERATORS}
SCALARS = {operator: function for function, _, operator in OPERATORS if operator is not None}


def _other(call: Call, name: str = "other") -> Operand | Scalar:
    """The second argument, a number if the operator's name says so."""
    return call.scalar(name) if "Scalar" in call.operator else call.tensor(name)


def _alike(call: Call) -> Operand | Scalar:
    """The second argument; an integer in the type of an integer tensor: 200 is -56 to an int8."""
    other, dtype = _other(call), call.tensor("self").dtype
    is_integer = dtype.kind in "iu" and call.output("out").dtype != FLOAT
    if not is_integer or isinstance(other, bool) or not isinstance(other, int):
        return other
    return int(np.array(other).astype(dtype))


def _reader(function: BinaryFunction) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        output = call.output("out")
        emit_binary(call, function, call.tensor("self"), _alike(call), output)

    return read


for _kind, _operators in (("Tensor", TENSORS), ("Scalar", SCALARS)):
    for _name, _function in _operators.items():
        program_op(f"aten::{_name}(Tensor self, {_kind} other, *, Tensor(a!) out)")(
            _reader(_function)
        )


@program_op(
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)",
    "aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out)",
    "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)",
    "aten::sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out)",
)
def read_sum(call: Call) -> None:
    is_sum, output = call.operator.startswith("aten::add."), call.output("out")
    function = BinaryFunction.ADD if is_sum else BinaryFunction.SUB
    scaled = _scaled(call, _other(call), output)
    emit_binary(call, function, call.tensor("self"), scaled, output)


@program_op("aten::rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out)")
def read_rsub(call: Call) -> None:
    output = call.output("out")
    scaled = _scaled(call, call.tensor("self"), output)
    emit_binary(call, BinaryFunction.SUB, call.scalar("other"), scaled, output)


def _scaled(call: Call, x: Operand | Scalar, output: Operand) -> Operand | Scalar:
    """x times the argument alpha."""
    alpha = call.scalar("alpha")
    if alpha == 1:
        return x
    if isinstance(x, Scalar):
        return x * alpha
    product = call.intermediate(output.dtype, x.shape, x.dim_order)
    emit_binary(call, BinaryFunction.MUL, x, alpha, product)
    return product


@program_op(
    "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out)",
    "aten::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out)",
)
def read_div(call: Call) -> None:
    other, source, output = _alike(call), call.tensor("self"), call.output("out")
    mode = None if call.is_none("rounding_mode") else call.string("rounding_mode")
    if mode not in (None, "floor", "trunc"):
        call.invalid(f"rounding_mode {mode}")
    function = BinaryFunction.FLOOR_DIV if mode == "floor" else BinaryFunction.DIV
    if mode == "trunc" and output.dtype == FLOAT:
        quotient = call.intermediate(FLOAT, output.shape, output.dim_order)
        emit_binary(call, function, source, other, quotient)
        emit_unary(call, "trunc", quotient, output)
    else:
        emit_binary(call, function, source, other, output)


@program_op(
    "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out)",
    "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out)",
)
def read_pow(call: Call) -> None:
    source, output, exponent = call.tensor("self"), call.output("out"), _other(call, "exponent")
    if exponent == 2:
        emit_binary(call, BinaryFunction.MUL, source, source, output)
    else:
        emit_binary(call, BinaryFunction.POWER, source, exponent, output)


@program_op("aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out)")
def read_pow_of_scalar(call: Call) -> None:
    output = call.output("out")
    emit_binary(call, BinaryFunction.POWER, call.scalar("self"), call.tensor("exponent"), output)

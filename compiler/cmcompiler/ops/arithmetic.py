"""Portable operators that are one function of one or two numbers."""

from __future__ import annotations

from collections.abc import Callable

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import program_op
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.support.element import FLOAT, Scalar
from cmcompiler.ops.unary import emit_unary

TENSORS = {
    "mul.out": BinaryFunction.MUL,
    "div.out": BinaryFunction.DIV,
    "minimum.out": BinaryFunction.MINIMUM,
    "maximum.out": BinaryFunction.MAXIMUM,
    "floor_divide.out": BinaryFunction.FLOOR_DIV,
    "fmod.Tensor_out": BinaryFunction.FMOD,
    "remainder.Tensor_out": BinaryFunction.REMAINDER,
    "atan2.out": BinaryFunction.ATAN2,
    "bitwise_and.Tensor_out": BinaryFunction.AND,
    "bitwise_or.Tensor_out": BinaryFunction.OR,
    "bitwise_xor.Tensor_out": BinaryFunction.XOR,
    "bitwise_left_shift.Tensor_out": BinaryFunction.SHIFT_LEFT,
    "bitwise_right_shift.Tensor_out": BinaryFunction.SHIFT_RIGHT,
    "eq.Tensor_out": BinaryFunction.EQ,
    "ne.Tensor_out": BinaryFunction.NE,
    "lt.Tensor_out": BinaryFunction.LT,
    "le.Tensor_out": BinaryFunction.LE,
    "gt.Tensor_out": BinaryFunction.GT,
    "ge.Tensor_out": BinaryFunction.GE,
    "logical_and.out": BinaryFunction.LOGICAL_AND,
    "logical_or.out": BinaryFunction.LOGICAL_OR,
    "logical_xor.out": BinaryFunction.LOGICAL_XOR,
}
"""Operators `aten::<key>(Tensor self, Tensor other, *, out)`."""

SCALARS = {
    "mul.Scalar_out": BinaryFunction.MUL,
    "div.Scalar_out": BinaryFunction.DIV,
    "fmod.Scalar_out": BinaryFunction.FMOD,
    "remainder.Scalar_out": BinaryFunction.REMAINDER,
    "bitwise_and.Scalar_out": BinaryFunction.AND,
    "bitwise_or.Scalar_out": BinaryFunction.OR,
    "bitwise_xor.Scalar_out": BinaryFunction.XOR,
    "bitwise_left_shift.Tensor_Scalar_out": BinaryFunction.SHIFT_LEFT,
    "bitwise_right_shift.Tensor_Scalar_out": BinaryFunction.SHIFT_RIGHT,
    "eq.Scalar_out": BinaryFunction.EQ,
    "ne.Scalar_out": BinaryFunction.NE,
    "lt.Scalar_out": BinaryFunction.LT,
    "le.Scalar_out": BinaryFunction.LE,
    "gt.Scalar_out": BinaryFunction.GT,
    "ge.Scalar_out": BinaryFunction.GE,
}
"""Operators `aten::<key>(Tensor self, Scalar other, *, out)`."""


def _register(declaration: str, read: Callable[[Call], None]) -> None:
    program_op(declaration)(read)


def _tensors(function: BinaryFunction) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        output = call.output("out")
        emit_binary(call, function, call.tensor("self"), call.tensor("other"), output)

    return read


def _scalar(function: BinaryFunction) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        output = call.output("out")
        emit_binary(call, function, call.tensor("self"), call.scalar("other"), output)

    return read


for _key, _function in TENSORS.items():
    _register(f"aten::{_key}(Tensor self, Tensor other, *, Tensor(a!) out)", _tensors(_function))
for _key, _function in SCALARS.items():
    _register(f"aten::{_key}(Tensor self, Scalar other, *, Tensor(a!) out)", _scalar(_function))


def _sum(function: BinaryFunction, is_scalar: bool) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        output = call.output("out")
        other = call.scalar("other") if is_scalar else call.tensor("other")
        emit_binary(call, function, call.tensor("self"), _scaled(call, other, output), output)

    return read


for _key, _function in (("add", BinaryFunction.ADD), ("sub", BinaryFunction.SUB)):
    _register(
        f"aten::{_key}.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)",
        _sum(_function, is_scalar=False),
    )
    _register(
        f"aten::{_key}.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out)",
        _sum(_function, is_scalar=True),
    )


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


@program_op("aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out)")
def read_div(call: Call) -> None:
    _divide(call, call.tensor("other"))


@program_op(
    "aten::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out)"
)
def read_div_scalar(call: Call) -> None:
    _divide(call, call.scalar("other"))


def _divide(call: Call, other: Operand | Scalar) -> None:
    source, output = call.tensor("self"), call.output("out")
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


@program_op("aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out)")
def read_pow(call: Call) -> None:
    output = call.output("out")
    emit_binary(call, BinaryFunction.POWER, call.tensor("self"), call.tensor("exponent"), output)


@program_op("aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out)")
def read_pow_scalar(call: Call) -> None:
    source, output, exponent = call.tensor("self"), call.output("out"), call.scalar("exponent")
    if exponent == 2:
        emit_binary(call, BinaryFunction.MUL, source, source, output)
    else:
        emit_binary(call, BinaryFunction.POWER, source, exponent, output)


@program_op("aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out)")
def read_pow_of_scalar(call: Call) -> None:
    output = call.output("out")
    emit_binary(call, BinaryFunction.POWER, call.scalar("self"), call.tensor("exponent"), output)

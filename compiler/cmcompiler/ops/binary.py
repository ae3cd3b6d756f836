"""Portable functions of two numbers, of any element types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Any

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Loops
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors, Words
from cmcompiler.ir.operand import Operand
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import tabulate
from cmcompiler.ops.cast import Cast, cast
from cmcompiler.ops.support import functions, wrapping
from cmcompiler.ops.support.element import FLOAT, INTEGER, Scalar, check_element, code, converted
from cmcompiler.ops.support.elementwise import align, taken_over


class BinaryFunction(IntEnum):
    """`enum function` of kernels/binary.c."""

    ADD = 0
    SUB = auto()
    MUL = auto()
    DIV = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    FLOOR_DIV = auto()
    FMOD = auto()
    REMAINDER = auto()
    POWER = auto()
    ATAN2 = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHIFT_LEFT = auto()
    SHIFT_RIGHT = auto()
    EQ = auto()
    NE = auto()
    LT = auto()
    LE = auto()
    GT = auto()
    GE = auto()
    LOGICAL_AND = auto()
    LOGICAL_OR = auto()
    LOGICAL_XOR = auto()

    @property
    def gives_truth(self) -> bool:
        return self >= BinaryFunction.EQ

    @property
    def title(self) -> str:
        return self.name.lower()


INTEGER_FUNCTIONS: dict[BinaryFunction, Callable[[Array, Array], Array]] = {
    BinaryFunction.ADD: np.add,
    BinaryFunction.SUB: np.subtract,
    BinaryFunction.MUL: np.multiply,
    BinaryFunction.DIV: wrapping.quotient,
    BinaryFunction.MINIMUM: np.minimum,
    BinaryFunction.MAXIMUM: np.maximum,
    BinaryFunction.FLOOR_DIV: wrapping.floor_quotient,
    BinaryFunction.FMOD: wrapping.rest,
    BinaryFunction.REMAINDER: wrapping.floor_rest,
    BinaryFunction.POWER: wrapping.power,
    BinaryFunction.AND: np.bitwise_and,
    BinaryFunction.OR: np.bitwise_or,
    BinaryFunction.XOR: np.bitwise_xor,
    BinaryFunction.SHIFT_LEFT: wrapping.shift_left,
    BinaryFunction.SHIFT_RIGHT: wrapping.shift_right,
}

TRUTHS: dict[BinaryFunction, Callable[[Array, Array], Array]] = {
    BinaryFunction.EQ: np.equal,
    BinaryFunction.NE: np.not_equal,
    BinaryFunction.LT: np.less,
    BinaryFunction.LE: np.less_equal,
    BinaryFunction.GT: np.greater,
    BinaryFunction.GE: np.greater_equal,
    BinaryFunction.LOGICAL_AND: np.logical_and,
    BinaryFunction.LOGICAL_OR: np.logical_or,
    BinaryFunction.LOGICAL_XOR: np.logical_xor,
}


def _float_extreme(a: Array, b: Array, first: Array) -> Array:
    """a where it comes first, else b; NaN where one of them is."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(first, a, b))


def _float_remainder(a: Array, b: Array) -> Array:
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _float_floor_quotient(a: Array, b: Array) -> Array:
    quotient = (a - _float_remainder(a, b)) / b
    floored = np.floor(quotient)
    nearest = np.where(quotient - floored > np.float32(0.5), floored + np.float32(1), floored)
    return np.where(b == 0, a / b, nearest)


FLOAT_FUNCTIONS: dict[BinaryFunction, Callable[[Array, Array], Array]] = {
    BinaryFunction.ADD: np.add,
    BinaryFunction.SUB: np.subtract,
    BinaryFunction.MUL: np.multiply,
    BinaryFunction.DIV: np.divide,
    BinaryFunction.MINIMUM: lambda a, b: _float_extreme(a, b, a < b),
    BinaryFunction.MAXIMUM: lambda a, b: _float_extreme(a, b, a > b),
    BinaryFunction.FLOOR_DIV: _float_floor_quotient,
    BinaryFunction.FMOD: np.fmod,
    BinaryFunction.REMAINDER: _float_remainder,
    BinaryFunction.POWER: functions.power,
    BinaryFunction.ATAN2: np.arctan2,
}

LIBRARY = (
    BinaryFunction.FLOOR_DIV,
    BinaryFunction.FMOD,
    BinaryFunction.REMAINDER,
    BinaryFunction.POWER,
    BinaryFunction.ATAN2,
)
"""Functions whose floats need the mathematical library."""


@dataclass(frozen=True)
class Binary(Op):
    """A function of two numbers, computed in float32 or in wrapping int64.

    Attributes:
        compute: float32 or int64; operands of an int64 function may be of any integer types.
        loops: over both operands and the output.
        dtype, shape: of the output, physical.
    """

    label = "binary"

    function: BinaryFunction
    compute: np.dtype[Any]
    loops: Loops
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def title(self) -> str:
        return self.function.title

    @property
    def in_place(self) -> frozenset[int]:
        return taken_over(self.loops)

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.function is not BinaryFunction.ATAN2

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = (self.loops.read(i, x).astype(self.compute) for i, x in enumerate(inputs))
        result = evaluate(self.function, lhs, rhs)
        return (converted(result, self.dtype).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        tensors = (*inputs, *outputs)
        if self.compute == INTEGER:
            kernel = "binary_integer"
        else:
            kernel = "binary_library_f32" if self.function in LIBRARY else "binary_f32"
        arguments: Words = [
            ("lhs", Address(inputs[0])),
            ("rhs", Address(inputs[1])),
            ("output", Address(outputs[0])),
            *self.loops.fields([tensor.dtype.itemsize for tensor in tensors]),
            ("lhs_step", self.loops.inner[0]),
            ("rhs_step", self.loops.inner[1]),
            ("lhs_type", code(inputs[0])),
            ("rhs_type", code(inputs[1])),
            ("output_type", code(outputs[0])),
            ("function", int(self.function)),
        ]
        return [KernelCall(kernel, arguments)]


def evaluate(function: BinaryFunction, lhs: Array, rhs: Array) -> Array:
    """The function on float32 or on int64 arrays; truth values are bool."""
    with np.errstate(all="ignore"):
        if function.gives_truth:
            return TRUTHS[function](lhs, rhs)
        table = INTEGER_FUNCTIONS if lhs.dtype == INTEGER else FLOAT_FUNCTIONS
        return table[function](lhs, rhs)


def emit_binary(
    call: Call,
    function: BinaryFunction,
    lhs: Operand | Scalar,
    rhs: Operand | Scalar,
    output: Operand,
) -> None:
    """Emits a function of tensors and numbers, converted as torch does.

    It computes in float32 if an operand or the result is a float, otherwise in integers.
    """
    given = [x for x in (lhs, rhs) if not isinstance(x, Scalar)]
    for tensor in (*given, output):
        check_element(call, tensor.dtype)
    is_float = any(_is_float(x) for x in (lhs, rhs)) or output.dtype == FLOAT
    compute = FLOAT if is_float else INTEGER
    table = TRUTHS if function.gives_truth else FLOAT_FUNCTIONS if is_float else INTEGER_FUNCTIONS
    if function not in table:
        call.unsupported(f"{function.title} of {'floats' if is_float else 'integers'}")
    if len(given) == 1 and given[0].dtype.itemsize == output.dtype.itemsize == 1:

        def of_bytes(x: Array) -> Array:
            sides = [np.array(y) if isinstance(y, Scalar) else x for y in (lhs, rhs)]
            first, second = (converted(side, compute) for side in sides)
            return converted(evaluate(function, first, second), output.dtype)

        tabulate(call, function.title, given[0], output, of_bytes)
        return
    tensors = [_as_operand(call, x, compute) for x in (lhs, rhs)]
    loops, aligned = align(call, tensors, output)
    native = FLOAT if is_float and not function.gives_truth else output.dtype
    if is_float and function.gives_truth:
        native = np.dtype(np.bool_)
    shape = output.tensor.shape
    op = Binary(function, compute, loops, native, shape)
    if native == output.dtype:
        call.emit(op, aligned, [output.tensor])
        return
    result = call.temporary(native, shape)
    call.emit(op, aligned, [result])
    call.emit(Cast(output.dtype), [result], [output.tensor])


def _is_float(x: Operand | Scalar) -> bool:
    return isinstance(x, float) if isinstance(x, Scalar) else x.dtype == FLOAT


def _as_operand(call: Call, x: Operand | Scalar, compute: np.dtype[Any]) -> Operand:
    if isinstance(x, Scalar):
        return call.literal(converted(np.array(x), compute))
    return cast(call, x, FLOAT) if compute == FLOAT else x

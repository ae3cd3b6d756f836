"""Portable functions of two numbers, of any element types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.layout import INLINE, Int32, Struct
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.activation import tabulate
from cmcompiler.ops.cast import cast, emit_and_cast
from cmcompiler.ops.support import functions, wrapping
from cmcompiler.ops.support.element import FLOAT, INTEGER, Scalar, check_element, code, converted
from cmcompiler.ops.support.elementwise import Elementwise, PairOperands, align

ARITHMETIC = Microkernel("arithmetic_f32", mve=True)
BINARY_BYTES = Microkernel("binary_bytes", dsp=True, mve=True)


def _float_minimum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(a < b, a, b))


def _float_maximum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(a > b, a, b))


def _float_remainder(a: Array, b: Array) -> Array:
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _float_floor_quotient(a: Array, b: Array) -> Array:
    quotient = (a - _float_remainder(a, b)) / b
    floored = np.floor(quotient)
    nearest = np.where(quotient - floored > np.float32(0.5), floored + np.float32(1), floored)
    return np.where(b == 0, a / b, nearest)


Function = Callable[[Array, Array], Array]


class BinaryFunction(Enum):
    """`enum function` of kernels/binary.c: on wrapping int64 and on float32, if it has both.

    Those from EQ on give truth values.
    """

    ADD = np.add, np.add
    SUB = np.subtract, np.subtract
    MUL = np.multiply, np.multiply
    DIV = wrapping.quotient, np.divide
    MINIMUM = np.minimum, _float_minimum
    MAXIMUM = np.maximum, _float_maximum
    FLOOR_DIV = wrapping.floor_quotient, _float_floor_quotient
    FMOD = wrapping.rest, np.fmod
    REMAINDER = wrapping.floor_rest, _float_remainder
    POWER = wrapping.power, functions.power
    ATAN2 = None, functions.atan2
    AND = np.bitwise_and, None
    OR = np.bitwise_or, None
    XOR = np.bitwise_xor, None
    SHIFT_LEFT = wrapping.shift_left, None
    SHIFT_RIGHT = wrapping.shift_right, None
    EQ = np.equal, np.equal
    NE = np.not_equal, np.not_equal
    LT = np.less, np.less
    LE = np.less_equal, np.less_equal
    GT = np.greater, np.greater
    GE = np.greater_equal, np.greater_equal
    LOGICAL_AND = np.logical_and, np.logical_and
    LOGICAL_OR = np.logical_or, np.logical_or
    LOGICAL_XOR = np.logical_xor, np.logical_xor

    def __init__(self, of_integers: Function | None, of_floats: Function | None) -> None:
        self.of_integers, self.of_floats = of_integers, of_floats

    @property
    def code(self) -> int:
        return list(BinaryFunction).index(self)

    @property
    def gives_truth(self) -> bool:
        return self.code >= BinaryFunction.EQ.code

    @property
    def title(self) -> str:
        return self.name.lower()


LIBRARY = (
    BinaryFunction.FLOOR_DIV,
    BinaryFunction.FMOD,
    BinaryFunction.REMAINDER,
    BinaryFunction.POWER,
    BinaryFunction.ATAN2,
)
"""Functions whose floats need the mathematical library."""

TRANSCENDENTAL = (BinaryFunction.POWER, BinaryFunction.ATAN2)
"""Functions that only floats have."""


_ORDERS = {
    BinaryFunction.EQ: (False, True, False),
    BinaryFunction.NE: (True, False, True),
    BinaryFunction.LT: (True, False, False),
    BinaryFunction.LE: (True, True, False),
    BinaryFunction.GT: (False, False, True),
    BinaryFunction.GE: (False, True, True),
}
"""Comparisons: whether they are true of a number that is less, equal, or more."""

_OF_BOTH, _OF_ANY, _OF_ONE = (True, False), (True, True), (False, True)

_TRUTHS = {
    BinaryFunction.LOGICAL_AND: _OF_BOTH,
    BinaryFunction.LOGICAL_OR: _OF_ANY,
    BinaryFunction.LOGICAL_XOR: _OF_ONE,
}
_BITS = {
    BinaryFunction.AND: _OF_BOTH,
    BinaryFunction.OR: _OF_ANY,
    BinaryFunction.XOR: _OF_ONE,
}
"""Whether both sides, and one side alone, make the result."""


@dataclass(frozen=True)
class ByteFunction(Struct):
    """A function of two bytes. The numbers but for the kind are masks: 0, or -1."""

    c_name = "cm_byte_function"

    kind: Annotated[Int32, "enum cm_byte_kind"]
    is_unsigned: Annotated[Int32, "CM_COMPARED: 0 for signed bytes"]
    when_less: Annotated[Int32, "CM_COMPARED: the results of lhs against rhs"]
    when_equal: Int32
    when_more: Int32
    of_both: Annotated[Int32, "CM_TRUE: the result if both are not 0; CM_BITS: of bits set in both"]
    of_one: Int32


@dataclass(frozen=True)
class BinaryArguments(Arguments):
    """Two operands of any element types."""

    c_name = "cm_binary"

    operands: Annotated[PairOperands, INLINE]
    lhs_step: Annotated[Int32, "of the innermost loop, in elements"]
    rhs_step: Int32
    lhs_type: Annotated[Int32, "enum cm_element"]
    rhs_type: Int32
    output_type: Int32
    function: Annotated[Int32, "enum function"]


@dataclass(frozen=True)
class BinaryBytesArguments(Arguments):
    """Two operands of bytes."""

    c_name = "cm_binary_bytes"

    operands: Annotated[PairOperands, INLINE]
    lhs_step: Int32
    rhs_step: Int32
    function: ByteFunction


def _byte_function(
    function: BinaryFunction, inputs: Tensors, output: Tensor
) -> ByteFunction | None:
    """None if it is not a function of two bytes."""
    dtype = inputs[0].dtype
    if dtype.itemsize > 1 or inputs[1].dtype != dtype or output.dtype.itemsize > 1:
        return None
    order, sides = (False, False, False), (False, False)
    if function in _ORDERS:
        kind, order = 0, _ORDERS[function]
    elif function in _TRUTHS:
        kind, sides = 1, _TRUTHS[function]
    elif function in _BITS and output.dtype == dtype:
        kind, sides = 2, _BITS[function]
    else:
        return None
    masks = (dtype != np.int8, *order, *sides)
    return ByteFunction(kind, *(-int(mask) for mask in masks))


@dataclass(frozen=True)
class Binary(Elementwise):
    """A function of two numbers, computed in float32 or in wrapping int64.

    Attributes:
        compute: float32 or int64; operands of an int64 function may be of any integer types.
        dtype: of the output.
    """

    label = "binary"

    function: BinaryFunction
    compute: np.dtype[Any]
    dtype: np.dtype[Any]

    @property
    def title(self) -> str:
        return self.function.title

    @property
    def transcendental(self) -> bool:  # type: ignore[override]
        return self.compute == FLOAT and self.function in TRANSCENDENTAL

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = (x.astype(self.compute) for x in self.broadcast(inputs))
        result = evaluate(self.function, lhs, rhs)
        return (converted(result, self.dtype).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        of_bytes = _byte_function(self.function, inputs, outputs[0])
        if of_bytes is not None and self.compute == INTEGER:
            operands, steps = PairOperands.of(self.loops, (*inputs, *outputs)), self.loops.inner
            of_pairs = BinaryBytesArguments(operands, steps[0], steps[1], of_bytes)
            return [KernelCall.of("binary_bytes", of_pairs, microkernel=BINARY_BYTES)]
        if self.compute == INTEGER:
            kernel = "binary_integer"
        else:
            kernel = "binary_library_f32" if self.function in LIBRARY else "binary_f32"
        arguments = BinaryArguments(
            PairOperands.of(self.loops, (*inputs, *outputs)),
            lhs_step=self.loops.inner[0],
            rhs_step=self.loops.inner[1],
            lhs_type=code(inputs[0]),
            rhs_type=code(inputs[1]),
            output_type=code(outputs[0]),
            function=self.function.code,
        )
        is_arithmetic = kernel == "binary_f32" and not self.function.gives_truth
        microkernel = ARITHMETIC if is_arithmetic else None
        return [KernelCall.of(kernel, arguments, microkernel=microkernel)]


def evaluate(function: BinaryFunction, lhs: Array, rhs: Array) -> Array:
    """The function on float32 or on int64 arrays, which it must have; truth values are bool."""
    computed = function.of_integers if lhs.dtype == INTEGER else function.of_floats
    assert computed is not None
    with np.errstate(all="ignore"):
        return computed(lhs, rhs)


def emit_binary(
    call: Call,
    function: BinaryFunction,
    lhs: Operand | Scalar,
    rhs: Operand | Scalar,
    output: Operand,
    *,
    kind: type[Binary] = Binary,
) -> None:
    """Emits a function of tensors and numbers, converted as torch does.

    It computes in float32 if an operand or the result is a float, otherwise in integers.

    Args:
        kind: what the op is, where it knows more than its function.
    """
    given = [x for x in (lhs, rhs) if not isinstance(x, Scalar)]
    for tensor in (*given, output):
        check_element(call, tensor.dtype)
    is_float = any(_is_float(x) for x in (lhs, rhs)) or output.dtype == FLOAT
    compute = FLOAT if is_float else INTEGER
    if (function.of_floats if is_float else function.of_integers) is None:
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
    native = output.dtype
    if is_float:
        native = np.dtype(np.bool_) if function.gives_truth else FLOAT
    op = kind(loops, output.tensor.shape, function, compute, native)
    emit_and_cast(call, op, native, aligned, output)


def _is_float(x: Operand | Scalar) -> bool:
    return isinstance(x, float) if isinstance(x, Scalar) else x.dtype == FLOAT


def _as_operand(call: Call, x: Operand | Scalar, compute: np.dtype[Any]) -> Operand:
    if isinstance(x, Scalar):
        return call.literal(converted(np.array(x), compute))
    return cast(call, x, FLOAT) if compute == FLOAT else x
